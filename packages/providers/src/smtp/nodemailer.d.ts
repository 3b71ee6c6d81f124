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
  }

  export interface Transport {
    sendMail(mail: Mail): Promise<{ readonly messageId: string }>
    close(): void
  }

  export function createTransport(options: TransportOptions): Transport
}
