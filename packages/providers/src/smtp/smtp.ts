import { createPrivateKey } from 'node:crypto'
import { createTransport, type Transport } from 'nodemailer'
import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import { createHeaders, createMessageId, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { createBounceReader } from './reports.ts'
import { createReturnPaths, type ReturnPaths } from './return-path.ts'
import { resultOfError, type SmtpError } from './send-result.ts'

const Dkim = Type.Object(
  {
    domain: Type.String({ minLength: 1, examples: ['example.com'] }),
    selector: Type.String({ pattern: '^[A-Za-z0-9._-]+$', examples: ['mail2026'] }),
    private_key: Type.String({
      minLength: 1,
      description: 'An RSA key in PEM, or the path of its file from the configuration file.',
      examples: ['./dkim.pem', '${DKIM_PRIVATE_KEY}'],
    }),
  },
  { additionalProperties: false, description: 'Signs every mail (RFC 6376).' },
)

const Bounces = Type.Object(
  {
    domain: Type.String({
      pattern: '^[A-Za-z0-9.-]+$',
      description: 'Whose mail server hands us what comes back. Every mail has a return path of its own there.',
      examples: ['bounces.example.com'],
    }),
    secret: Type.String({
      minLength: 16,
      description: 'Shown as a bearer token by whoever hands us bounces, and proves our return paths.',
      examples: ['${BOUNCE_SECRET}'],
    }),
  },
  { additionalProperties: false, description: 'How bounces and complaints reach us.' },
)

/** Carries email over SMTP (RFC 5321). A 250 is the ack. */
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
    timeout_seconds: Type.Optional(
      Type.Number({
        minimum: 0.1,
        maximum: 30,
        description: 'The longest silence of the server that is borne, in seconds.',
        default: 20,
      }),
    ),
    dkim: Type.Optional(Dkim),
    bounces: Type.Optional(Bounces),
  },
  create({ url, from, connections = 5, timeout_seconds: seconds = 20, dkim, bounces }, context): Provider {
    const sender = parseSender(from ?? context.from)
    const returnPaths = bounces && createReturnPaths(bounces.domain, bounces.secret)
    const transport = createTransport({
      url,
      pool: true,
      maxConnections: connections,
      // over another connection, when the server closed one that was kept before it had a byte of the mail
      maxRequeues: connections,
      connectionTimeout: Math.min(10, seconds) * 1_000,
      greetingTimeout: Math.min(10, seconds) * 1_000,
      socketTimeout: seconds * 1_000,
      ...(dkim ? { dkim: createDkim(dkim, context.folder) } : {}),
    })
    return {
      name: context.name,
      channel: 'email',
      timeoutMs: seconds * 1_000 + 10_000,
      send: (messages) =>
        sendEach(messages, (message) => sendMail(transport, createMail(message, sender, returnPaths))),
      ...(bounces && returnPaths ? { reports: createBounceReader(bounces.secret, returnPaths) } : {}),
      async close() {
        transport.close()
      },
    }
  },
})

/** What DKIM covers: also both fields of one-click unsubscribing, as RFC 8058 §4 asks. */
const signedFields =
  'From:Reply-To:Subject:Date:Message-ID:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding:In-Reply-To:' +
  'References:List-Id:List-Unsubscribe:List-Unsubscribe-Post:Auto-Submitted:Feedback-ID'
const minKeyBits = 1024

function createDkim(given: { domain: string; selector: string; private_key: string }, folder: string) {
  const privateKey = readKey(given.private_key, folder)
  return {
    domainName: given.domain,
    keySelector: given.selector,
    privateKey,
    headerFieldNames: signedFields,
  }
}

function readKey(given: string, folder: string): string {
  try {
    const pem = readTextOrFile(given, /^\s*-----BEGIN/, folder)
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < minKeyBits)
      throw new RangeError(`must be an RSA key of ${minKeyBits} bits or more`)
    return pem
  } catch (error) {
    const why = error instanceof RangeError ? error.message : 'must be an RSA key in PEM'
    throw new RangeError(`dkim.private_key ${why}`)
  }
}

async function sendMail(transport: Transport, mail: ReturnType<typeof createMail>): Promise<SendResult> {
  try {
    const { messageId } = await transport.sendMail(mail)
    return { kind: 'accepted', providerMessageId: messageId }
  } catch (error) {
    return resultOfError(error as SmtpError)
  }
}

/**
 * The mail, which asks for notice of its failure alone where the server knows how (RFC 3461). Addresses are objects, in
 * the envelope too: a string would be parsed, and could hold several.
 */
function createMail(message: OutgoingMessage, sender: Sender, returnPaths: ReturnPaths | undefined) {
  const { deliveryId, target, content } = message
  const to = { name: '', address: target.address }
  return {
    from: { name: sender.name ?? '', address: sender.address },
    to,
    envelope: { from: { name: '', address: returnPaths?.create(deliveryId) ?? sender.address }, to: [to] },
    dsn: { id: deliveryId, return: 'headers', notify: ['failure'], recipient: target.address },
    subject: content.subject ?? '',
    text: content.body,
    ...(content.html === undefined ? {} : { html: content.html }),
    messageId: createMessageId(message, sender),
    headers: createHeaders(message),
    disableFileAccess: true,
    disableUrlAccess: true,
  } as const
}
