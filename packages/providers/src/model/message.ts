import type { Channel } from './channel.ts'

/** The recipient address of one message. A push has one target per device; every other channel has one target. */
export interface Target {
  /** The id of the device, or the name of the channel where there is only one address. */
  readonly id: string
  /** The push token, email address, phone number or user id. */
  readonly address: string
  /** For devices: the push service, such as `fcm`, `apns` or `web`. */
  readonly service?: string
}

/** The text of a message. */
export interface Content {
  /** The subject of an email, the title of a push. SMS ignores it. */
  readonly subject?: string
  /** Plain text. */
  readonly body: string
  /** Email only: the HTML alternative to `body`. */
  readonly html?: string
  /** BCP 47 language tag of the texts. */
  readonly locale: string
}

/** One message to one target. */
export interface OutgoingMessage {
  /**
   * Identical for every attempt to send this message to this target. It becomes the idempotency key, the collapse id or
   * the Message-ID wherever the provider has one: printable ASCII.
   */
  readonly id: string
  /** The delivery that the provider's reports name. A UUIDv7 in lower case (RFC 9562 §5.7). */
  readonly deliveryId: string
  readonly notificationId: string
  readonly userId: string
  readonly channel: Channel
  /** The name of the event behind the message, such as `order.shipped`. */
  readonly event: string
  /** Critical messages travel with a high urgency where the provider distinguishes them. */
  readonly critical: boolean
  /**
   * Set if the message was sent before and that attempt may have been accepted: its response was lost, or its process
   * ended. Twilio is then searched for the earlier attempt.
   */
  readonly retried?: boolean
  readonly target: Target
  readonly content: Content
  /** Push only: a token with which the app on the device reports receipts. */
  readonly receiptToken?: string
  /** Email only: header fields in addition to those of the provider, such as List-Unsubscribe. */
  readonly headers?: Readonly<Record<string, string>>
}
