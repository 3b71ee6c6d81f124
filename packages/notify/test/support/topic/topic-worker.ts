/**
 * A process of the service on a PostgreSQL and a NATS: it accepts the events of its partitions of the topic and sends them
 * to nowhere. It reports each message before it handles it, and which partitions it owns whenever that changes.
 */
import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { createNotify, type Provider, type Topic } from '../../../src/index.ts'
import { natsTopic } from '../../../src/nats/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'

/** What its parent says. */
export interface TopicWorkerOptions {
  readonly databaseUrl: string
  readonly natsUrl: string
  readonly buckets: number
  readonly partitions: number
  readonly bucketLeaseMs: number
}

/** What it reports. */
export type TopicWorkerReport = { readonly text: string } | { readonly owned: readonly number[] }

const { databaseUrl, natsUrl, buckets, partitions, bucketLeaseMs } = JSON.parse(
  process.argv[2] ?? '',
) as TopicWorkerOptions
const report = (message: TopicWorkerReport) =>
  new Promise<void>((resolve) => process.send?.(message, () => resolve()) ?? resolve())

const nats = await natsTopic({ url: natsUrl, log: silentLog, partitions: { count: partitions } })
const topic: Topic = {
  ...nats,
  consume(handle, ownership) {
    ownership.onChange(() => report({ owned: ownership.ownedPartitions() }))
    return nats.consume(async (message) => {
      await report({ text: message.text ?? '' })
      await handle(message)
    }, ownership)
  },
}
const provider: Provider = {
  name: 'nowhere',
  channel: 'email',
  timeoutMs: 5_000,
  send: async (messages) => messages.map(({ id }) => ({ kind: 'accepted', providerMessageId: id })),
}
const database = await openPostgres({ url: new Secret(databaseUrl), log: silentLog, connections: 6 })
await createNotify({
  store: postgresNotifyStore(database, await migrateNotify(database, { buckets })),
  providers: { email: [provider] },
  topic,
  authenticate: () => {
    throw new Error('nobody asks')
  },
  options: { bucketLeaseMs },
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
})
process.send?.('ready')
