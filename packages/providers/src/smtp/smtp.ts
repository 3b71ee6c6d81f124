import { createPrivateKey } from 'node:crypto'
import { createTransport, type Progress, type Transport } from 'nodemailer'
import { type Static, Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { from } from '../kind/shared-options.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import { createHeaders, createMessageId, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createDeadlines } from '../transport/deadlines.ts'
import { createBounceReader } from './reports.ts'
import { createReturnPaths, type ReturnPaths } from './return-path.ts'
import { resultOfError, type SmtpError } from './send-result.ts'
import { requiresStartTls } from './starttls.ts'

const Dkim = Type.Object(
  {
    domain: Type.String({ minLength: 1, examples: ['example.com'] }),
    selector: Type.String({ pattern: '^[A-Za-z0-9._-]+$', examples: ['mail2026'] }),
    private_key: Type.String({
      minLength: 1,
      description: 'An RSA key in PEM, or the path of its file relative to the configuration file.',
      examples: ['./dkim.pem', '${DKIM_PRIVATE_KEY}'],
    }),
  },
  { additionalProperties: false, description: 'Signs every mail (RFC 6376).' },
)

const Bounces = Type.Object(
  {
    domain: Type.String({
      pattern: '^[A-Za-z0-9.-]+$',
      description:
        'Domain of the return paths; every mail has its own. Its mail server posts what it receives to the report URL.',
      examples: ['bounces.example.com'],
    }),
    secret: Type.String({
      minLength: 16,
      description: 'Bearer token of the mail server that posts bounces; it also authenticates the return paths.',
      examples: ['${BOUNCE_SECRET}'],
    }),
  },
  { additionalProperties: false, description: 'Reports of bounces and complaints.' },
)

/** Email over SMTP (RFC 5321). Reply 250 to the message accepts it. */
export const smtp = defineProvider({
  kind: 'smtp',
  channels: ['email'],
  description: 'Email over SMTP.',
  options: {
    url: Type.String({
      pattern: '^smtps?://',
      description:
        'smtp:// or smtps://, with user and password. With smtp:// the password is sent after STARTTLS only, unless the URL has ?requireTLS=false.',
      examples: ['smtp://user:password@mail.example.com:587'],
    }),
    from,
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Connections that stay open.', default: 5 }),
    ),
    timeout_seconds: Type.Optional(
      Type.Number({
        minimum: 0.1,
        maximum: 30,
        description: 'How long the server may be silent, in seconds.',
        default: 20,
      }),
    ),
    dkim: Type.Optional(Dkim),
    bounces: Type.Optional(Bounces),
  },
  createSender({ url, from, connections = 5, timeout_seconds: seconds = 20, dkim, bounces }, context) {
    const sender = parseSender(from ?? context.from)
    const returnPaths = bounces && createReturnPaths(bounces.domain, bounces.secret)
    const requiresTls = requiresStartTls(url)
    const transport = createTransport({
      url,
      pool: true,
      maxConnections: connections,
      // retry over another connection if the server closed an idle one before it received a byte of the mail
      maxRequeues: connections,
      connectionTimeout: Math.min(10, seconds) * 1_000,
      greetingTimeout: Math.min(10, seconds) * 1_000,
      socketTimeout: seconds * 1_000,
      ...(requiresTls ? { requireTLS: true } : {}),
      ...(dkim ? { dkim: createDkim(dkim, context.folder) } : {}),
    })
    noteBeginnings(transport)
    const timeoutMs = seconds * 1_000 + 10_000
    // earlier than the caller, who cannot tell a mail that waited from one that may have been accepted
    const startDeadline = createDeadlines(timeoutMs - 1_000, `it took longer than ${timeoutMs - 1_000} ms`)
    return {
      timeoutMs,
      send: (messages, signal) =>
        sendEach(messages, (message) => {
          const limit = AbortSignal.any([signal, startDeadline().signal])
          return sendMail(transport, createMail(message, sender, returnPaths), { signal: limit, requiresTls })
        }),
      async close() {
        transport.close()
      },
    }
  },
  createReportReader: ({ bounces }) =>
    bounces && createBounceReader(bounces.secret, createReturnPaths(bounces.domain, bounces.secret)),
})

/** The header fields that DKIM signs, including both of one-click unsubscription (RFC 8058 §4). */
const signedFields =
  'From:Reply-To:Subject:Date:Message-ID:To:Cc:MIME-Version:Content-Type:Content-Transfer-Encoding:In-Reply-To:' +
  'References:List-Id:List-Unsubscribe:List-Unsubscribe-Post:Auto-Submitted:Feedback-ID'
const minKeyBits = 1024

function createDkim(dkim: Static<typeof Dkim>, folder: string) {
  return {
    domainName: dkim.domain,
    keySelector: dkim.selector,
    privateKey: readKey(dkim.private_key, folder),
    headerFieldNames: signedFields,
  }
}

function readKey(textOrFile: string, folder: string): string {
  try {
    const pem = readTextOrFile(textOrFile, /^\s*-----BEGIN/, folder)
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType !== 'rsa' || (key.asymmetricKeyDetails?.modulusLength ?? 0) < minKeyBits)
      throw new RangeError(`must be an RSA key of ${minKeyBits} bits or more`)
    return pem
  } catch (error) {
    const reason = error instanceof RangeError ? error.message : 'must be an RSA key in PEM'
    throw new RangeError(`dkim.private_key ${reason}`)
  }
}

/** Makes a transport note what of a mail is sent: after a connection is lost it may take another one. */
function noteBeginnings(transport: Transport): void {
  transport.use('stream', ({ data, message }, done) => {
    const createReadStream = message.createReadStream.bind(message)
    message.createReadStream = () => {
      const stream = createReadStream()
      data.progress.stream = stream
      return stream
    }
    done()
  })
}

async function sendMail(
  transport: Transport,
  mail: ReturnType<typeof createMail>,
  { signal, requiresTls }: { readonly signal: AbortSignal; readonly requiresTls: boolean },
): Promise<SendResult> {
  const progress: Progress = {}
  try {
    const { messageId } = await transport.sendMail({ ...mail, signal, progress })
    return { kind: 'accepted', providerMessageId: messageId }
  } catch (error) {
    const hasBegun = progress.stream?.readableDidRead ?? false
    return resultOfError(error as SmtpError, { hasBegun, requiresStartTls: requiresTls })
  }
}

/**
 * The mail. It requests delivery status notifications of failures only, where the server supports that (RFC 3461).
 * Addresses are objects, in the envelope too: a string would be parsed, and could contain several.
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
