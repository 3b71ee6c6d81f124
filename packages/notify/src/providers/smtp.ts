import { createTransport } from 'nodemailer'
import { Type } from 'typebox'
import { defineProvider } from './kind.ts'
import type { OutgoingMessage, Provider, SendResult } from './provider.ts'

const timeoutMs = 30_000

/** Carries email over SMTP. A 250 is the ack; 4xx is tried again, 5xx is permanent (RFC 5321 §4.2.1). */
export const smtp = defineProvider({
  kind: 'smtp',
  channels: ['email'],
  description: 'Mail over SMTP.',
  members: {
    url: Type.String({
      pattern: '^smtps?://',
      description: 'smtp:// or smtps://, with user and password.',
      examples: ['smtp://user:password@mail.example.com:587'],
    }),
    from: Type.Optional(
      Type.String({ description: 'The sender. Default: MAIL_FROM.', examples: ['Example <hello@example.com>'] }),
    ),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Connections kept open.', default: 5 }),
    ),
  },
  create({ url, from, connections = 5 }, context): Provider {
    const transport = createTransport({
      url,
      pool: true,
      maxConnections: connections,
      connectionTimeout: 10_000,
      greetingTimeout: 10_000,
      socketTimeout: 20_000,
    })
    return {
      name: context.name,
      channel: 'email',
      timeoutMs,
      async send(messages) {
        return Promise.all(messages.map((message) => sendMail(transport, mailOf(message, from ?? context.from))))
      },
      async close() {
        transport.close()
      },
    }
  },
})

async function sendMail(
  transport: ReturnType<typeof createTransport>,
  mail: ReturnType<typeof mailOf>,
): Promise<SendResult> {
  try {
    const { messageId } = await transport.sendMail(mail)
    return { kind: 'accepted', providerMessageId: messageId }
  } catch (error) {
    return resultOf(error as SmtpError)
  }
}

/** The mail of a message. Its Message-ID is the same at every try, so that mail servers see one mail. */
function mailOf({ id, event, target, content, headers }: OutgoingMessage, from: string) {
  const domain = /@([^>\s]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'
  return {
    from,
    to: { name: '', address: target.address },
    subject: content.subject ?? '',
    text: content.body,
    ...(content.html === undefined ? {} : { html: content.html }),
    messageId: `<${id}@${domain}>`,
    headers: { 'Auto-Submitted': 'auto-generated', 'Feedback-ID': `${event}:gatehouse`, ...headers },
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
