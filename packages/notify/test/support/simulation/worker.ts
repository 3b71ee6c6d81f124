/**
 * One of the simulation's two processes: the whole service, taking events from the topic and calling the fake provider.
 * A fourth argument has options of the topic, a fifth the number of buckets.
 */
import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { Pool } from 'undici'
import { type Channel, createNotify, type Provider } from '../../../src/index.ts'
import { natsTopic } from '../../../src/nats/index.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'

const [databaseUrl = '', natsUrl = '', providerUrl = '', topicOptions = '{}', buckets = '1'] = process.argv.slice(2)
/** The provider always answers; on a machine with much else to do it takes its time. */
const providerTimeoutMs = 9_000
const pool = new Pool(providerUrl, { connections: 64 })

function provider(channel: Channel): Provider {
  return {
    name: `fake ${channel}`,
    channel,
    timeoutMs: providerTimeoutMs,
    async send(messages, signal) {
      return Promise.all(
        messages.map(async ({ id, userId, event, content }) => {
          const body = JSON.stringify({
            id,
            userId,
            channel,
            event,
            body: content.body,
            pid: process.pid,
            sentAt: Date.now(),
          })
          const answer = await pool.request({ path: '/', method: 'POST', body, signal })
          await answer.body.dump()
          return { kind: 'accepted', providerMessageId: id } as const
        }),
      )
    },
  }
}

const database = await openPostgres({ url: new Secret(databaseUrl), log: silentLog, connections: 8 })
const tables = await migrateNotify(database, { buckets: Number(buckets) })
await createNotify({
  store: postgresNotifyStore(database, { ...tables, streaming: true }),
  providers: { push: [provider('push')], email: [provider('email')] },
  topic: await natsTopic({ url: natsUrl, log: silentLog, ...JSON.parse(topicOptions) }),
  declared: {
    eventTypes: [
      { event: 'note', channels: ['push', 'email'] },
      { event: 'alert', priority: 'critical', channels: ['email'] },
      { event: 'like', channels: ['push'], aggregation: { threshold: 3, actor: 'actor' } },
    ],
    templates: [
      { templateId: 'note', channel: 'push', locale: 'en', body: '{{ key }}' },
      { templateId: 'note', channel: 'email', locale: 'en', body: '{{ key }}' },
      { templateId: 'alert', channel: 'email', locale: 'en', body: '{{ key }}' },
      { templateId: 'like', channel: 'push', locale: 'en', body: '{{ items | map: "key" | join: "," }}' },
    ],
  },
  authenticate: () => {
    throw new Error('nobody asks')
  },
  options: { leaseMs: 20_000, idleMs: 100, aggregationDelayMs: 4_000 },
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
})
process.send?.('ready')
