/** What we use of nodemailer, which brings no types of its own. */
declare module 'nodemailer' {
  interface TransportOptions {
    readonly url: string
    readonly pool: true
    readonly maxConnections: number
    readonly connectionTimeout: number
    readonly greetingTimeout: number
    readonly socketTimeout: number
  }

  interface Mail {
    readonly from: string
    readonly to: { readonly name: string; readonly address: string }
    readonly subject: string
    readonly text: string
    readonly html?: string
    readonly messageId: string
    readonly headers: Readonly<Record<string, string>>
    readonly disableFileAccess: true
    readonly disableUrlAccess: true
  }

  interface Transport {
    sendMail(mail: Mail): Promise<{ readonly messageId: string }>
    close(): void
  }

  export function createTransport(options: TransportOptions): Transport
}
