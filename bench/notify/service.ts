import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { type Channel, createNotify, type Notify, type Provider } from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'

export interface ServiceOptions {
  readonly url: string
  /** How many users `user-0` … can be reached by email. */
  readonly users: number
  readonly providers: Partial<Record<Channel, readonly Provider[]>>
  readonly work: boolean
  /** Into how many buckets they are divided. Default 1. */
  readonly buckets?: number
}

/** The notification service on PostgreSQL with one event type, its template, and users. */
export async function service({ url, users, providers, work, buckets = 1 }: ServiceOptions): Promise<Notify> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 10 })
  const store = postgresNotifyStore(database, await migrateNotify(database, { buckets }))
  const { rows } = await database.query<{ count: number }>('SELECT count(*) AS count FROM notify.recipient')
  for (let n = rows[0]?.count ?? 0; n < users; n += chunk) {
    const recipients = Array.from({ length: Math.min(chunk, users - n) }, (_, index) => recipientOf(n + index))
    await store.recipients.put(recipients, Date.now())
  }
  const notify = await createNotify({
    store,
    providers,
    work,
    declared: {
      templates: [
        {
          templateId: 'order.shipped',
          channel: 'email',
          locale: 'en',
          subject: 'Your order {{ order_id }} is on its way',
          body: 'Hello,\n\n{{ item }} left our house today. Follow it here:\n{{ tracking_url }}\n',
        },
      ],
      eventTypes: [{ event: 'order.shipped', channels: ['email'] }],
    },
    authenticate: () => ({ subject: 'bench', scopes: new Set(['write:notifications']), roles: [], kind: 'client' }),
    options: { caps: { total: 1_000, channels: {}, priorities: {} } },
    clock: systemClock,
    log: silentLog,
    metrics: createMetrics(),
  })
  const stop = notify.stop
  return {
    ...notify,
    async stop() {
      await stop()
      await database.close()
    },
  }
}

/** How many recipients are put at once. */
const chunk = 10_000

const recipientOf = (n: number) => ({ userId: `user-${n}`, email: `user-${n}@example.com`, locale: 'en' })
