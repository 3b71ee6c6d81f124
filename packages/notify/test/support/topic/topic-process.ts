/**
 * A process that reads the partitions of the topic that its parent names. It reports each message to the parent before it
 * acknowledges it.
 */
import { silentLog } from '@gatehouse/kit'
import { AssignedPartitions } from '../../../src/model/work/partition.ts'
import { natsTopic } from '../../../src/nats/index.ts'

const [url = '', options = '{}'] = process.argv.slice(2)
const topic = await natsTopic({ url, log: silentLog, ...JSON.parse(options) })
const ownership = new AssignedPartitions()
process.on('message', ([partitions, generation]: [readonly number[], number]) =>
  ownership.assign(partitions, generation),
)
await topic.consume(async ({ text, key, ack }) => {
  await new Promise<void>((resolve) => process.send?.({ text, key }, () => resolve()))
  ack()
}, ownership)
process.send?.('ready')
