import type { Secret } from '@gatehouse/kit'
import { createTransport } from 'nodemailer'
import type { OutgoingMessage, Provider, SendResult } from './provider.ts'

export interface SmtpOptions {
  /** `smtp://user:password@host:587` or `smtps://…`. */
  readonly url: Secret
  /** The sender, `Name <address>`. */
  readonly from: string
  readonly name?: string
  /** Connections kept open. Default 5. */
  readonly connections?: number
}

const timeoutMs = 30_000

/** Carries email over SMTP. A 250 is the ack; 4xx is tried again, 5xx is permanent (RFC 5321 §4.2.1). */
export function smtpProvider(options: SmtpOptions): Provider {
  const transport = createTransport({
    url: options.url.reveal(),
    pool: true,
    maxConnections: options.connections ?? 5,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
  })
  return {
    name: options.name ?? 'smtp',
    channel: 'email',
    timeoutMs,
    async send(messages) {
      return Promise.all(
        messages.map(async (message): Promise<SendResult> => {
          try {
            const { messageId } = await transport.sendMail(mailOf(message, options.from))
            return { kind: 'accepted', providerMessageId: messageId }
          } catch (error) {
            return resultOf(error as SmtpError)
          }
        }),
      )
    },
    async close() {
      transport.close()
    },
  }
}

/** The mail of a message. Its Message-ID is the same at every try, so that mail servers see one mail. */
function mailOf({ id, event, target, content }: OutgoingMessage, from: string) {
  const domain = /@([^>\s]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    from,
    to: { name: '', address: target.address },
    subject: content.subject ?? '',
    text: content.body,
    ...(content.html === undefined ? {} : { html: content.html }),
    messageId: `<${id}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'Feedback-ID': `${event}:gatehouse` },
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}

interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
  readonly command?: string
}

function resultOf({ code, responseCode, command, message }: SmtpError): SendResult {
  const reason = message.slice(0, 500)
  if (responseCode !== undefined && responseCode >= 500)
    return { kind: 'permanent', code: String(responseCode), reason }
  if (code === 'EENVELOPE' && responseCode === undefined) return { kind: 'permanent', code, reason }
  if (responseCode === undefined && command === 'DATA') return { kind: 'ambiguous', reason }
  return { kind: 'transient', reason }
}
