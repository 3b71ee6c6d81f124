/**
 * What is reported about a delivery: the provider's acknowledgement, or what followed it. That its recipient
 * unsubscribed says nothing about the delivery itself.
 */
export type ReportType = 'acknowledged' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed'

export type ReportHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** A webhook as it came in. */
export interface ReportRequest {
  readonly headers: ReportHeaders
  /** The very bytes that were signed. */
  readonly body: Buffer
  /** The public address it was sent to, with its query: some providers sign that too. */
  readonly url: string
}

/** One thing that a provider reports about one of our messages. */
export interface Report {
  /** The provider's id of this very report; the same at every repetition. */
  readonly eventId: string
  /** Ours, where the provider carried it through. */
  readonly deliveryId?: string
  readonly report: ReportType
  /** Unix milliseconds. */
  readonly at: number
  readonly reason?: string
  /** For bounces: a soft one, after which the address is still good. */
  readonly soft?: boolean
  /** For opens and clicks: no person made it. It is told, and changes no state. */
  readonly machine?: boolean
  /** For clicks: the link or action that was followed. */
  readonly link?: string
  /**
   * Reported by whoever received the message, with a token or a link of it. It counts once for each delivery, report and
   * link, for as long as the timeline is kept, whatever its event id.
   */
  readonly byRecipient?: boolean
}

/** What a webhook came to. */
export type ReadResult =
  | {
      readonly kind: 'reports'
      readonly reports: readonly Report[]
      /** Why nothing could be made of what came, though it may have told something: for the log. */
      readonly unreadableReason?: string
    }
  /** Forged, stale, or not for us. Nothing of it is believed. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** Signed, and yet not in the provider's format. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** It can't be checked now, for no fault of its own: the provider has to send it again. `busy`: too many came. */
  | { readonly kind: 'unchecked'; readonly reason: string; readonly busy: boolean }

/** Takes a provider's webhooks: checks the signature on the raw bytes, then reads what is reported. */
export interface ReportReader {
  /** The longest body that the provider posts, in bytes; the endpoint has a bound of its own. */
  readonly maxBytes?: number
  /** Why its header fields alone show that a webhook is forged or stale. Asked before a byte of the body is read. */
  checkHeaders?(headers: ReportHeaders, now: number): string | undefined
  read(request: ReportRequest, now: number): Promise<ReadResult>
}
