import assert from 'node:assert/strict'
import { silentLog } from '@gatehouse/kit'
import { startNatsCluster, testWith } from '@gatehouse/testing'
import { AssignedPartitions } from '../../src/model/work/partition.ts'
import { natsTopic } from '../../src/nats/index.ts'
import { eventuallyOnCluster } from '../support/patience.ts'

const program = 'nats-server-2.15'

testWith(program, 'a start just after the server that leads all others died waits for the next leader', async (t) => {
  const cluster = await startNatsCluster({ program })
  t.after(() => cluster.stop())
  const replicas = { intake: { replicas: 3 }, changes: { replicas: 3 } }
  await (await natsTopic({ url: cluster.url, log: silentLog, ...replicas })).close()
  const leader = await cluster.leader()
  const url = cluster.nodes
    .filter((node) => node !== leader)
    .map((node) => node.url)
    .join(',')
  await leader.kill()
  const topic = await natsTopic({ url, log: silentLog, ...replicas })
  t.after(() => topic.close())
  const reading = await topic.consume(async ({ ack }) => ack(), new AssignedPartitions())
  t.after(() => reading.stop())
  assert.notEqual(await cluster.leader(), leader)
  await eventuallyOnCluster(
    () =>
      topic.ping().then(
        () => true,
        () => false,
      ),
    (answers) => answers,
  )
})
