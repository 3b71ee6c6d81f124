import { createMetrics, type Http, silentLog } from '@gatehouse/kit'
import {
  type Channel,
  channels,
  createNotify,
  inboxProvider,
  mailboxProvider,
  type Notify,
  type Provider,
} from '@gatehouse/notify'
import { migrateNotify, postgresNotifyStore } from '@gatehouse/notify/postgres'
import { memoryDatabase } from '@gatehouse/testing'
import type { Shared } from './platform.ts'

/** A notification service on the platform of the console, and what its mailboxes took. */
export interface Notifications {
  readonly notify: Notify
  /** The texts of what was sent, the newest first. */
  sent(): Promise<string[]>
  stop(): Promise<void>
}

/** Adds the notification service to the platform: two mailboxes for each channel. */
export async function addNotifications(http: Http, { clock, authenticate }: Shared): Promise<Notifications> {
  const database = await memoryDatabase(async (each) => {
    await migrateNotify(each)
  })
  const store = postgresNotifyStore(database)
  const mailboxes = (channel: Channel): Provider[] => {
    const inner = channel === 'in-app' ? inboxProvider() : undefined
    const mailbox = mailboxProvider(channel, store.mailbox, clock, inner)
    return channel === 'in-app' ? [mailbox] : [mailbox, { ...mailbox, name: `spare-${channel}` }]
  }
  const notify = await createNotify({
    store,
    providers: Object.fromEntries(channels.map((channel) => [channel, mailboxes(channel)])),
    authenticate,
    options: { idleMs: 50, morningSpreadMs: 0 },
    clock,
    log: silentLog,
    metrics: createMetrics(),
  })
  await http.register((scope) => notify.plugin(scope as Http))
  return {
    notify,
    sent: async () => (await store.mailbox.list({ limit: 100 })).map(({ content }) => content.body),
    async stop() {
      await notify.stop()
      await database.close()
    },
  }
}
