/** The result of one attempt to send one message. `reason` describes it in at most 500 characters. */
export type SendResult = Accepted | RateLimited | Transient | Permanent | Misconfigured | DeadToken | Ambiguous

/** The provider accepted the message and will try to deliver it. */
export interface Accepted {
  readonly kind: 'accepted'
  /** The provider's id of the message, where it returns one. */
  readonly providerMessageId?: string
  /** Set by in-app inboxes only: the caller stores the message as an item of the user's inbox. */
  readonly inInbox?: true
}

/** The provider limits the rate. The message itself is good: send it again later, and count no failed attempt. */
export interface RateLimited {
  readonly kind: 'rate_limited'
  /** Milliseconds to wait, where the provider names a time. */
  readonly retryAfterMs?: number
  /** The limit is that of the account: send nothing to this provider until it ends. Otherwise it is that of the recipient. */
  readonly accountWide?: boolean
  /** The address may name a server that is not the provider's: this says nothing about the provider. */
  readonly ofAddress?: true
  /** The provider confirmed that no earlier attempt of this message was accepted. */
  readonly noneAccepted?: true
  readonly reason: string
}

/** This attempt was not accepted, because of a temporary failure: retry. */
export interface Transient {
  readonly kind: 'transient'
  /** Milliseconds to wait, where the provider names a time. */
  readonly retryAfterMs?: number
  /** The provider confirmed that no earlier attempt of this message was accepted. */
  readonly noneAccepted?: true
  readonly reason: string
}

/** The provider rejected the message and will never accept it. */
export interface Permanent {
  readonly kind: 'permanent'
  /** The error code of the provider, else the HTTP status or SMTP reply code. */
  readonly code: string
  readonly reason: string
  /** The address is invalid or has opted out: send nothing more to it. */
  readonly undeliverable?: 'bounced' | 'unsubscribed'
  /** The address may name a server that is not the provider's: this says nothing about the provider. */
  readonly ofAddress?: true
}

/**
 * The provider rejected the sender, whatever the message: an invalid credential, a closed account, an unverified sender,
 * a wrong URL. Count no failed attempt and alert an operator. A fault that one recipient can cause is `unproven`.
 */
export interface Misconfigured {
  readonly kind: 'misconfigured'
  /** Nothing was accepted from this sender yet, so the recipient may be at fault: one such result decides nothing. */
  readonly unproven?: true
  /** The provider confirmed that no earlier attempt of this message was accepted. */
  readonly noneAccepted?: true
  readonly reason: string
}

/** The push token is no longer registered: delete the device. */
export interface DeadToken {
  readonly kind: 'dead_token'
  /** When the token ceased to be valid, Unix milliseconds. Absent: now. */
  readonly at?: number
  /** The address may name a server that is not the provider's: this says nothing about the provider. */
  readonly ofAddress?: true
  readonly reason: string
}

/** Unresolved: no response arrived, so the message may have been accepted. A retry can deliver it twice. */
export interface Ambiguous {
  readonly kind: 'ambiguous'
  /** The address may name a server that is not the provider's: this says nothing about the provider. */
  readonly ofAddress?: true
  readonly reason: string
}
