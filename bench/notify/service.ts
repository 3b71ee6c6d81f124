import { createMetrics, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { type Channel, createNotify, type Notify, type Provider } from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'

export interface ServiceOptions {
  readonly url: string
  /** How many users `user-0` … can be reached by email. */
  readonly users: number
  /** Default 1. */
  readonly buckets?: number
  readonly providers: Partial<Record<Channel, readonly Provider[]>>
  readonly work: boolean
}

/** The notification service on PostgreSQL with one event type, its template, and users. */
export async function service({ url, users, buckets = 1, providers, work }: ServiceOptions): Promise<Notify> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 10 })
  const store = postgresNotifyStore(database, await migrateNotify(database, { buckets }))
  const recipients = Array.from({ length: users }, (_, n) => ({
    userId: `user-${n}`,
    email: `user-${n}@example.com`,
    locale: 'en',
  }))
  await store.recipients.put(recipients, systemClock.now())
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
