/** The name of each scope. One table, so that a deployment can name its own. */
export interface NotifyScopes {
  /** POST /v1/notify and /v1/scheduled, for producers. */
  readonly write: string
  /** POST /v1/reserved-mails: for the service that reserved event types belong to. For clients alone. */
  readonly reserved: string
  /** Reading what became of a notification, and the feed. Who may write or manage may read as well; users read their own. */
  readonly read: string
  /** A user's hand in their own preferences, devices and inbox. */
  readonly own: string
  /** Every change of the management, and what its read scopes allow. */
  readonly admin: string
  /** Whatever is known of deliveries, and of recipients, their devices and preferences; read only. */
  readonly delivery: string
  /** Templates, event types, suppressions and previews; read only. */
  readonly settings: string
  /** Feeding recipients from the system that knows them, one by one. For clients alone. */
  readonly feed: string
  /** Personal data as it is; callers without it see it masked. */
  readonly personalData: string
  /** Single fields of a recipient, with a reason. */
  readonly reveal: string
  /** GET /v1/events: the state changes of all deliveries. For clients alone. */
  readonly events: string
  /** A user's data handed out or erased; includes both scopes before it. */
  readonly privacy: string
}

/** The default scope of each access. */
export const defaultScopes: NotifyScopes = {
  write: 'write:notifications',
  reserved: 'write:reserved-mails',
  read: 'read:notifications',
  own: 'write:preferences',
  admin: 'admin:notifications',
  delivery: 'read:delivery',
  settings: 'read:settings',
  feed: 'write:recipients',
  personalData: 'read:personal-data',
  reveal: 'reveal:personal-data',
  events: 'read:events',
  privacy: 'admin:privacy',
}

/** What a route is for, by which it is decided who may call it. */
export type Access = keyof ReturnType<typeof accessBy>

/** The scopes that allow each access: one of them is enough, the first is named to whoever has none. */
export function accessBy(scopes: NotifyScopes) {
  const { write, reserved, read, own, admin, delivery, settings, feed, reveal, events, privacy } = scopes
  return {
    produce: [write, admin],
    mailReserved: [reserved],
    readScheduled: [write, delivery, admin],
    cancelScheduled: [write, admin],
    actOnNotification: [write, admin],
    readOutcome: [read, write, delivery, admin],
    readFeed: [read, write, delivery, admin],
    readOwn: [own, delivery, admin],
    changeOwn: [own, admin],
    readDelivery: [delivery, admin],
    readSettings: [settings, admin],
    manage: [admin],
    putRecipient: [admin, feed],
    readEvents: [events],
    reveal: [reveal, privacy],
    privacy: [privacy],
  } as const satisfies Readonly<Record<string, readonly string[]>>
}
