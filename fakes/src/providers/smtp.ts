import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { type Behaviour, createScript, type Fake, type FakeReport } from '../fake.ts'
import { selfSigned } from '../server/certificate.ts'

export interface SmtpFakeSettings {
  readonly user?: string
  readonly password?: string
  /** Shown where bounces are handed over. */
  readonly bounceSecret?: string
  readonly port?: number
  /** Speaks TLS with a self-signed certificate, at once or after STARTTLS. Default: it does not. */
  readonly tls?: 'immediate' | 'starttls'
}

/** A mail as it was taken. */
export interface SmtpMail {
  readonly id: string
  /** The envelope's sender: where bounces go to. */
  readonly from: string
  readonly to: string
  /** Everybody whom the envelope names, the first of whom is `to`. */
  readonly recipients: readonly string[]
  readonly raw: string
}

export interface SmtpFake extends Fake<SmtpMail> {
  /** Refuses the next senders, before any recipient is named, with a reply such as `550 5.7.1 no`. */
  refuseSender(reply: string): void
  /** Connections that were made so far. */
  connections(): number
  /** Hands bounces and complaints over, as a mail server's pipe would. */
  sendWebhook(to: string, reports: readonly FakeReport[]): Promise<number>
  /** Hands a raw mail over so. */
  handOver(to: string, raw: string): Promise<number>
}

/**
 * A mail server that takes everything that is well-formed, for anybody. A behaviour's `status` is its reply to the
 * recipient, with `body` as the text behind the code; `hang` and `drop` come once it has the whole mail.
 */
export async function startSmtp(settings: SmtpFakeSettings = {}): Promise<SmtpFake> {
  const { user, password, bounceSecret = '', port = 0 } = settings
  const talk: Talk = { requests: [], refusals: [], script: createScript(), senders: [], connections: 0 }
  const server = serverOf(settings, talk)
  server.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  const account = user === undefined ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`
  const handOver = async (to: string, raw: string) => {
    const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${bounceSecret}` }
    const answer = await fetch(to, { method: 'POST', headers, body: raw })
    await answer.body?.cancel()
    return answer.status
  }
  return {
    kind: 'smtp',
    url: `${settings.tls === 'immediate' ? 'smtps' : 'smtp'}://${account}127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    requests: talk.requests,
    refusals: talk.refusals,
    answerNext: (behaviour, times) => talk.script.enqueue(behaviour, times),
    connections: () => talk.connections,
    refuseSender: (reply) => talk.senders.push(reply),
    handOver,
    async sendWebhook(to, reports) {
      let status = 0
      for (const report of reports) status = await handOver(to, noticeOf(report, talk.requests))
      return status
    },
    stop() {
      for (const { _socket } of server.connections) _socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** What the server has seen, and what it is to do next. */
interface Talk {
  readonly requests: SmtpMail[]
  readonly refusals: string[]
  readonly script: ReturnType<typeof createScript>
  /** Replies to the next senders. */
  readonly senders: string[]
  connections: number
}

function serverOf({ user, password, tls }: SmtpFakeSettings, talk: Talk): SMTPServer {
  const behaviours = new Map<string, Behaviour>()
  const refuse = (reply: string) => {
    talk.refusals.push(reply)
    return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) })
  }
  const server = new SMTPServer({
    ...(tls ? credentials(tls) : {}),
    onConnect(_session, done) {
      talk.connections += 1
      done()
    },
    authOptional: user === undefined,
    allowInsecureAuth: true,
    disabledCommands: tls === 'starttls' ? [] : ['STARTTLS'],
    size: maxBytes,
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth({ username, password: sentPassword }, _session, done) {
      if (username === user && sentPassword === password) done(null, { user: username })
      else done(refuse('535 5.7.8 Error: authentication failed'))
    },
    onMailFrom(_address, _session, done) {
      const reply = talk.senders.shift()
      done(reply === undefined ? null : refuse(reply))
    },
    onRcptTo(_address, session, done) {
      const behaviour = talk.script.next()
      behaviours.delete(session.id)
      if (behaviour === 'gone') return done(refuse('550 5.1.1 User unknown'))
      if (typeof behaviour === 'object')
        return done(refuse(`${behaviour.status} ${behaviour.body ?? 'configured to answer so'}`))
      if (behaviour) behaviours.set(session.id, behaviour)
      done()
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString('latin1')
        const fault = stream.sizeExceeded ? '552 5.3.4 Message too big' : faultOf(raw)
        if (fault) return done(refuse(fault))
        const behaviour = behaviours.get(session.id)
        if (behaviour === 'hang') return
        talk.requests.push(mailOf(session, raw))
        if (behaviour === 'drop') cut(server, session)
        else done()
      })
    },
  })
  return server
}

function credentials(tls: 'immediate' | 'starttls') {
  const { pem, key } = selfSigned('127.0.0.1')
  return { secure: tls === 'immediate', cert: pem, key: key.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function cut(server: SMTPServer, { id }: SMTPServerSession): void {
  for (const connection of server.connections) if (connection.id === id) connection._socket.destroy()
}

const maxBytes = 1024 * 1024
const neededFields = ['from', 'to', 'date', 'message-id', 'subject']

/** What a strict server finds wrong (RFC 5322 §2.1.1, §3.6). */
function faultOf(raw: string): string | undefined {
  const head = raw.split('\r\n\r\n', 1)[0] ?? ''
  if (/(?<!\r)\n|\r(?!\n)/.test(raw)) return '550 5.6.0 a bare CR or LF'
  if (raw.split('\r\n').some((line) => line.length > 998)) return '550 5.6.0 a line is too long'
  if (/[^\x00-\x7f]/.test(head)) return '550 5.6.7 a header field beyond ASCII'
  const names = head.split(/\r\n(?![ \t])/).map((line) => line.split(':')[0]?.toLowerCase())
  const missing = neededFields.find((name) => names.filter((each) => each === name).length !== 1)
  return missing && `550 5.6.0 there must be one ${missing}`
}

function mailOf(session: SMTPServerSession, raw: string): SmtpMail {
  const { mailFrom, rcptTo } = session.envelope
  return {
    id: /^message-id:\s*<([^>]+)>/im.exec(raw)?.[1] ?? randomUUID(),
    from: mailFrom === false ? '' : mailFrom.address,
    to: rcptTo[0]?.address ?? '',
    recipients: rcptTo.map(({ address }) => address),
    raw,
  }
}

function noticeOf({ message, what, soft, eventId }: FakeReport, accepted: readonly SmtpMail[]): string {
  const sent = accepted.find(({ id }) => id === message)
  if (!sent) throw new RangeError(`there is no mail ${message}`)
  const head = sent.raw.split('\r\n\r\n', 1)[0] ?? ''
  const id = eventId ?? randomUUID()
  if (what === 'complained') return feedbackReport(sent, head, id)
  if (what !== 'bounced' && what !== 'delivered') throw new RangeError(`mail servers do not report ${what}`)
  const lines = {
    delivered: ['Action: delivered', 'Status: 2.0.0'],
    hard: ['Action: failed', 'Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 User unknown'],
    soft: ['Action: failed', 'Status: 5.2.2', 'Diagnostic-Code: smtp; 552 5.2.2 Mailbox full'],
  }[what === 'delivered' ? 'delivered' : soft ? 'soft' : 'hard']
  const status = ['Reporting-MTA: dns; fake.example', '', `Final-Recipient: rfc822; ${sent.to}`, ...lines]
  return report({ kind: 'delivery-status', type: 'message/delivery-status', lines: status }, { sent, head, id })
}

function feedbackReport(sent: SmtpMail, head: string, id: string): string {
  const lines = ['Feedback-Type: abuse', 'User-Agent: Fake/1', 'Version: 1', `Original-Mail-From: <${sent.from}>`]
  return report({ kind: 'feedback-report', type: 'message/feedback-report', lines }, { sent, head, id })
}

/** What a report says, and about which mail: its head goes with it. */
interface Report {
  readonly kind: string
  readonly type: string
  readonly lines: readonly string[]
}

interface Reported {
  readonly sent: SmtpMail
  readonly head: string
  readonly id: string
}

/** A report as a mail (RFC 6522). */
function report({ kind, type, lines }: Report, { sent, head, id }: Reported): string {
  const parts = [
    ['text/plain', 'A notice about your mail.'],
    [type, lines.join('\r\n')],
    ['text/rfc822-headers', head],
  ].map(([name, body]) => `--limit\r\nContent-Type: ${name}\r\n\r\n${body}\r\n`)
  return [
    'From: Mail Delivery <MAILER-DAEMON@fake.example>',
    `To: ${sent.from}`,
    'Subject: A notice',
    `Message-ID: <${id}@fake.example>`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${kind}; boundary="limit"`,
    '',
    `${parts.join('\r\n')}--limit--`,
    '',
  ].join('\r\n')
}
