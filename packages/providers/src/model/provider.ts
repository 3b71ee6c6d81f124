import type { Channel } from './channel.ts'
import type { ReportReader } from './report.ts'

/** Where one message goes. A push has one target per device, every other channel one. */
export interface Target {
  /** The device's id, or the channel's name where there is but one address. */
  readonly id: string
  /** The push token, email address, phone number or user id. */
  readonly address: string
  /** For devices: the push service, such as `fcm`, `apns` or `web`. */
  readonly service?: string
}

/** What a message says. */
export interface Content {
  readonly subject?: string
  readonly body: string
  readonly html?: string
  readonly locale: string
}

/** One message to one target, as a provider is asked to carry it. */
export interface OutgoingMessage {
  /**
   * The same for every try of this message to this target: the idempotency, collapse or message id wherever the
   * provider takes one.
   */
  readonly id: string
  readonly deliveryId: string
  readonly notificationId: string
  readonly userId: string
  readonly channel: Channel
  readonly event: string
  readonly critical: boolean
  /** It was tried before, and that try may have been taken: its answer was lost, or its worker died. */
  readonly retried?: boolean
  readonly target: Target
  readonly content: Content
  /** Of a push: the token that the app on the device reports with what became of it. */
  readonly receiptToken?: string
  /** Header fields that a mail carries beside the provider's own, such as List-Unsubscribe. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What the provider made of one message. */
export type SendResult =
  /** With `inInbox` it becomes an item of the user's inbox, written where the answer is recorded. */
  | { readonly kind: 'accepted'; readonly providerMessageId?: string; readonly inInbox?: true }
  /**
   * Not now: no try is burnt. With `pauses` it is us that the provider wants slower, whoever the message is for: nothing
   * goes to it until then; else it is this one recipient.
   */
  | {
      readonly kind: 'rate_limited'
      readonly retryAfterMs?: number
      readonly accountWide?: boolean
      readonly noneAccepted?: true
      readonly reason: string
    }
  /**
   * This call was not taken. With `noneAccepted`, of this one and of 'rate_limited' and 'misconfigured', the provider has
   * looked, and no earlier call of the message was taken either.
   */
  | {
      readonly kind: 'transient'
      readonly retryAfterMs?: number
      readonly noneAccepted?: true
      readonly reason: string
    }
  /** Never. With `undeliverable` it is the address that is at fault, and nothing more is sent to it. */
  | {
      readonly kind: 'permanent'
      readonly code: string
      readonly reason: string
      readonly undeliverable?: 'bounced' | 'unsubscribed'
    }
  /**
   * The provider refuses us, whoever the message is for: a wrong credential, a closed account, an unverified sender. No
   * try is burnt, and its breaker opens at once. Not for a fault that one recipient could bring about.
   */
  | { readonly kind: 'misconfigured'; readonly noneAccepted?: true; readonly reason: string }
  /** The device is gone since `at` (Unix milliseconds; now when the provider doesn't say). */
  | { readonly kind: 'dead_token'; readonly at?: number; readonly reason: string }
  /** Nobody knows whether it was taken: the answer never came. */
  | { readonly kind: 'ambiguous'; readonly reason: string }

/** Who carries messages of one channel. */
export interface Provider {
  readonly name: string
  readonly channel: Channel
  /** The longest a call may take, in milliseconds. */
  readonly timeoutMs: number
  /** Messages a call may carry. Default 1. */
  readonly batchSize?: number
  /** Whether it carries to this target at all. Default: to every one of its channel. */
  supports?(target: Target): boolean
  /** Why a device's token that it would have to carry to can't be one; asked when the device is registered. */
  checkToken?(token: string): string | undefined
  /** Answers for each message in order. Throwing counts as ambiguous for all of them. */
  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<readonly SendResult[]>
  /** Who takes the provider's reports at POST /v1/webhooks/{name}; left out where it reports nothing. */
  readonly reports?: ReportReader
  close?(): Promise<void>
}
