/**
 * The type of a report. `acknowledged`: the provider sent the message. `unsubscribed`: the recipient opted out, which
 * changes nothing about the delivery itself.
 */
export type ReportType = 'acknowledged' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained' | 'unsubscribed'

/** The header fields of an HTTP request, as Node's `IncomingMessage.headers` holds them: names in lower case. */
export type ReportHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** The HTTP request in which a provider delivers reports. */
export interface ReportRequest {
  readonly headers: ReportHeaders
  /** The raw bytes of the body: signatures cover them. */
  readonly body: Buffer
  /** The public URL of the request, with its query: some providers sign it too. */
  readonly url: string
}

/** One event in the life of a message. */
export interface Report {
  /** The provider's id of this event, identical whenever the event is reported again: the key for deduplication. */
  readonly eventId: string
  /** {@link OutgoingMessage.deliveryId}, where the provider returned it. */
  readonly deliveryId?: string
  readonly report: ReportType
  /** When it happened, Unix milliseconds. */
  readonly at: number
  readonly reason?: string
  /** The error code of the provider, where it has one. */
  readonly code?: string
  /** Bounces only: a temporary one, after which the address is still valid. */
  readonly soft?: boolean
  /** Opens and clicks only: made by a program, not by a person. */
  readonly machine?: boolean
  /** Clicks only: the link or action that was followed. */
  readonly link?: string
  /**
   * Reported by the recipient with a token or link of the message, not by the provider. Such reports count once per
   * delivery, type and link, whatever their event ids.
   */
  readonly byRecipient?: boolean
}

/** The result of verifying and reading a {@link ReportRequest}. */
export type ReadResult =
  /** Verified. `reports` is empty if the provider reported nothing that has a {@link ReportType}. */
  | {
      readonly kind: 'reports'
      readonly reports: readonly Report[]
      /** Why the content could not be interpreted, although it may matter: log it. */
      readonly unreadableReason?: string
    }
  /** Forged, expired or meant for someone else. Respond with 403. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** The signature is valid, but the content does not have the provider's format. Respond with 400. */
  | { readonly kind: 'malformed'; readonly reason: string }
  /** The signature cannot be verified now. Respond with 503, or with 429 if `busy`, so that the provider retries. */
  | { readonly kind: 'unchecked'; readonly reason: string; readonly busy: boolean }

/** Verifies the signature of report requests on their raw bytes, then reads the reports. */
export interface ReportReader {
  /** The maximum size of a body that the provider sends, in bytes. Respond with 413 to a larger one. */
  readonly maxBytes?: number
  /**
   * Why the header fields alone prove that a request is forged or expired, or undefined. Call it before the body is
   * received. `now` is in Unix milliseconds.
   */
  checkHeaders?(headers: ReportHeaders, now: number): string | undefined
  /** Verifies and reads a request received at `now` (Unix milliseconds). */
  read(request: ReportRequest, now: number): Promise<ReadResult>
  /** Closes the connections that the reader opened, if any. Closing the provider does it too. */
  close?(): Promise<void>
}
