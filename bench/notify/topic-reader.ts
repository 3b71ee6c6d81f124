/**
 * A process of the benchmark `topic`: reads the topic and acknowledges each message after an imaginary commit, which takes
 * a batch of those that wait and a few milliseconds. Reports how many it read when its parent asks.
 */
import { silentLog } from '@gatehouse/kit'
import { natsTopic } from '@gatehouse/notify/nats'

const commitMs = 5
const [url = '', options = '{}', owned = ''] = process.argv.slice(2)
const topic = await natsTopic({ url, log: silentLog, ...JSON.parse(options) })
let read = 0
let batches = 0
let waiting: Array<() => void> = []

const commit = () => {
  const committed = waiting
  waiting = []
  batches++
  setTimeout(() => {
    for (const resolve of committed) resolve()
  }, commitMs)
}

const partitions = owned.split(',').map(Number)
const cpu = process.cpuUsage()
await topic.consume(
  async (message) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(commit)
    })
    message.ack()
    read++
  },
  { ownedPartitions: () => partitions, generation: 0, onChange: () => () => {} },
)
process.on('message', () => {
  const { user, system } = process.cpuUsage(cpu)
  process.send?.({ read, batches, cpuUs: user + system })
})
process.send?.({ read, batches, cpuUs: 0 })
