/** The scope each kind of request needs. One table, so that a deployment can name its own. */
export interface NotifyScopes {
  /** POST /v1/notify and /v1/scheduled. */
  readonly write: string
  /** Reading what became of a notification, and the feed. Who may write or manage may read as well; users read their own. */
  readonly read: string
  /** A user's hand in their own preferences, devices and inbox. */
  readonly own: string
  /** Every management endpoint, and everybody's preferences and devices. */
  readonly admin: string
}

export const defaultScopes: NotifyScopes = {
  write: 'write:notifications',
  read: 'read:notifications',
  own: 'write:preferences',
  admin: 'admin:notifications',
}
