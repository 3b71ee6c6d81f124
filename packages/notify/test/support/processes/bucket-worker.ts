/** A process that works in its share of the buckets and calls the fake provider. */
import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { Pool } from 'undici'
import { createNotify, type Provider } from '../../../src/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'

const [databaseUrl = '', providerUrl = '', buckets = '1', leaseMs = '20000', bucketLeaseMs = '5000'] =
  process.argv.slice(2)
const pool = new Pool(providerUrl, { connections: 32 })
const provider: Provider = {
  name: 'fake',
  channel: 'email',
  timeoutMs: 5_000,
  send: (messages, signal) =>
    Promise.all(
      messages.map(async ({ id, userId, event, content }) => {
        const call = { id, userId, channel: 'email', event, body: content.body, pid: process.pid, sentAt: Date.now() }
        const answer = await pool.request({ path: '/', method: 'POST', body: JSON.stringify(call), signal })
        await answer.body.dump()
        return { kind: 'accepted', providerMessageId: id } as const
      }),
    ),
}

const database = await openPostgres({ url: new Secret(databaseUrl), log: silentLog, connections: 8 })
const tables = await migrateNotify(database, { buckets: Number(buckets) })
await createNotify({
  store: postgresNotifyStore(database, tables),
  providers: { email: [provider] },
  authenticate: () => {
    throw new Error('nobody asks')
  },
  options: { leaseMs: Number(leaseMs), bucketLeaseMs: Number(bucketLeaseMs) },
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
})
process.send?.('ready')
