/** What every message of the `http` provider has. */
interface MessageFacts {
  /** The same at every attempt to send it. */
  readonly id: string
  readonly delivery_id: string
  readonly notification_id: string
  readonly user_id: string
  readonly event: string
  /** Whether it concerns security or payments. */
  readonly critical: boolean
  readonly body: string
  readonly locale: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A mail to be sent. */
export interface EmailMessage extends MessageFacts {
  readonly channel: 'email'
  /** The address of the recipient. */
  readonly to: string
  readonly subject?: string
  readonly html?: string
}

/** A text message to be sent. */
export interface SmsMessage extends MessageFacts {
  readonly channel: 'sms'
  /** The phone number of the recipient (E.164). */
  readonly to: string
}

/** A push message to be sent to one device. */
export interface PushMessage extends MessageFacts {
  readonly channel: 'push'
  /** The token of the device. */
  readonly to: string
  readonly device_id: string
  readonly service?: string
  /** Reports what became of the message, as the app of the device does. */
  readonly receipt_token?: string
  readonly subject?: string
}

/** What the `http` provider posts to your URL. */
export type WebhookMessage = EmailMessage | SmsMessage | PushMessage

/** What you post to `/v1/webhooks/{provider}` about a message. */
export interface WebhookReport {
  readonly type: 'message.delivered' | 'message.opened' | 'message.clicked' | 'message.bounced' | 'message.complained'
  /** When it happened (RFC 3339). Default: when it was signed. */
  readonly timestamp?: string
  readonly data: {
    readonly delivery_id: string
    readonly reason?: string
    /** Whether a bounce is for now alone. */
    readonly soft?: boolean
  }
}
