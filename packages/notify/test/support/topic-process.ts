/**
 * A process that reads the partitions of the topic that its parent names, or (with the third argument `members`) its share
 * of them. It reports each message to the parent before it acknowledges it.
 */
import { silentLog } from '@gatehouse/kit'
import { AssignedPartitions } from '../../src/model/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'

const [url = '', options = '{}', division = 'assigned'] = process.argv.slice(2)
const topic = await natsTopic({ url, log: silentLog, ...JSON.parse(options) })
const ownership = new AssignedPartitions()
process.on('message', (partitions: readonly number[]) => ownership.assign(partitions))
await topic.consume(
  async ({ text, key, ack }) => {
    await new Promise<void>((resolve) => process.send?.({ text, key }, () => resolve()))
    ack()
  },
  division === 'members' ? undefined : ownership,
)
process.send?.('ready')
