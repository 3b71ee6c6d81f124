import type { DeliveryReport } from '../delivery-state.ts'

/** A webhook as it came in. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The very bytes that were signed. */
  readonly body: Buffer
  /** The public address it was sent to, with its query: some providers sign that too. */
  readonly url: string
}

/** One thing that a provider reports about one of our messages. */
export interface WebhookReport {
  /** The provider's id of this very report; the same at every repetition. */
  readonly eventId: string
  /** Ours, where the provider carried it through. */
  readonly deliveryId?: string
  readonly report: DeliveryReport
  /** Unix milliseconds. */
  readonly at: number
  readonly reason?: string
  /** For bounces: a soft one, after which the address is still good. */
  readonly soft?: boolean
  /** For opens and clicks: no person made it. It is told, and changes no state. */
  readonly machine?: boolean
}

/** What a webhook came to. */
export type ReceivedWebhook =
  | { readonly kind: 'reports'; readonly reports: readonly WebhookReport[] }
  /** Forged, stale, or not for us. Nothing of it is believed. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Signed, and yet not in the provider's format. */
  | { readonly kind: 'malformed'; readonly reason: string }

/** Takes a provider's webhooks: checks the signature on the raw bytes, then reads what is reported. */
export interface WebhookReceiver {
  receive(request: WebhookRequest, now: number): Promise<ReceivedWebhook>
}
