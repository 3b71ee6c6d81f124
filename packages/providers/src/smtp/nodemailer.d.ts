/** What we use of nodemailer, which brings no types of its own. */
declare module 'nodemailer' {
  import type { Readable } from 'node:stream'

  interface TransportOptions {
    readonly url: string
    readonly pool: true
    readonly maxConnections: number
    readonly maxRequeues: number
    readonly connectionTimeout: number
    readonly greetingTimeout: number
    readonly socketTimeout: number
    readonly requireTLS?: true
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
    /** The mail as the last connection that was ready for it got it; read once its server asks for it. */
    stream?: Readable
  }

  interface MailStream {
    readonly data: Mail
    readonly message: {
      /** Called whenever a connection is ready for the mail. */
      createReadStream(): Readable
    }
  }

  export interface Transport {
    sendMail(mail: Mail): Promise<{ readonly messageId: string }>
    use(step: 'stream', plugin: (mail: MailStream, done: () => void) => void): void
    close(): void
  }

  export function createTransport(options: TransportOptions): Transport
}
