/** What we use of nodemailer, which brings no types of its own. */
declare module 'nodemailer' {
  interface TransportOptions {
    readonly url: string
    readonly pool: true
    readonly maxConnections: number
    readonly maxRequeues: number
    readonly connectionTimeout: number
    readonly greetingTimeout: number
    readonly socketTimeout: number
    readonly dkim?: {
      readonly domainName: string
      readonly keySelector: string
      readonly privateKey: string
      readonly headerFieldNames: string
    }
  }

  interface Address {
    readonly name: string
    readonly address: string
  }

  interface Mail {
    readonly from: Address
    readonly to: Address
    readonly envelope: { readonly from: Address; readonly to: readonly Address[] }
    readonly dsn: {
      readonly id: string
      readonly return: 'headers'
      readonly notify: readonly string[]
      readonly recipient: string
    }
    readonly subject: string
    readonly text: string
    readonly html?: string
    readonly messageId: string
    readonly headers: Readonly<Record<string, string>>
    readonly disableFileAccess: true
    readonly disableUrlAccess: true
    /** Removes the mail from the queue, or closes the connection that sends it. */
    readonly signal: AbortSignal
    /** Unknown to nodemailer, which hands it to plugins as it is. */
    readonly progress: Progress
  }

  /** Changed while a mail is sent. */
  export interface Progress {
    /** Whether the mail was handed to a connection that was ready for it. Nothing of it is sent before. */
    hasBegun: boolean
  }

  interface MailStream {
    readonly data: Mail
    readonly message: {
      /** `transform` is called once a connection is ready for the mail. */
      processFunc(transform: <S>(stream: S) => S): void
    }
  }

  export interface Transport {
    sendMail(mail: Mail): Promise<{ readonly messageId: string }>
    use(step: 'stream', plugin: (mail: MailStream, done: () => void) => void): void
    close(): void
  }

  export function createTransport(options: TransportOptions): Transport
}
