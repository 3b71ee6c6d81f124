import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Fake, FakeReport } from '../fake.ts'
import { type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'

export interface SendgridFakeSettings {
  readonly apiKey: string
  readonly port?: number
}

/** A mail as it was taken. */
export interface SendgridMail {
  readonly id: string
  readonly to: string
  readonly from: { readonly email: string; readonly name?: string }
  readonly subject: string
  readonly content: ReadonlyArray<{ readonly type: string; readonly value: string }>
  readonly headers: Readonly<Record<string, string>>
  readonly customArgs: Readonly<Record<string, string>>
}

export interface SendgridFake extends Fake<SendgridMail> {
  /** The verification key of its signed event webhook, as its settings would show it. */
  readonly publicKey: string
  sendWebhook(to: string, reports: readonly FakeReport[]): Promise<number>
  /** Posts events as they are given, signed at a time (Unix milliseconds, default now). */
  sendEvents(to: string, events: readonly object[], at?: number): Promise<number>
}

/** SendGrid's Mail Send and its signed event webhook. */
export async function startSendgrid({ apiKey, port }: SendgridFakeSettings): Promise<SendgridFake> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const fake = await startHttpFake<SendgridMail>({
    kind: 'sendgrid',
    ...(port === undefined ? {} : { port }),
    see: (request) => see(request, apiKey),
    gone: { status: 400, body: errors('Does not contain a valid address.', 'personalizations.0.to.0.email') },
    troubled: (status) => errors(status === 429 ? 'too many requests' : `configured to answer ${status}`, null),
  })
  const sendEvents = async (to: string, events: readonly object[], at: number = Date.now()) => {
    const body = JSON.stringify(events)
    const timestamp = String(Math.floor(at / 1_000))
    const answer = await fetch(to, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-twilio-email-event-webhook-timestamp': timestamp,
        'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(timestamp + body), privateKey).toString(
          'base64',
        ),
      },
      body,
    })
    await answer.body?.cancel()
    return answer.status
  }
  return {
    ...fake,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    sendEvents,
    sendWebhook: (to, reports) =>
      sendEvents(
        to,
        reports.map((report) => eventOf(report, fake.requests)),
      ),
  }
}

const ownHeaders =
  /^(?:x-sg-id|x-sg-eid|received|dkim-signature|content-type|content-transfer-encoding|to|from|subject|reply-to|cc|bcc)$/i
const address = /^[^@\s<>"]+@[^@\s<>"]+$/
const isText = (value: unknown): value is string => typeof value === 'string' && value.length > 0

function see({ method, path, headers, body }: FakeRequest, apiKey: string): Seen<SendgridMail> {
  if (path !== '/v3/mail/send') return refuse(404, 'Not Found', null)
  if (method !== 'POST') return refuse(405, 'method not allowed', null)
  if (headers.authorization !== `Bearer ${apiKey}`)
    return refuse(401, 'The provided authorization grant is invalid, expired, or revoked', null)
  if (headers['content-type']?.split(';')[0] !== 'application/json')
    return refuse(415, 'Content-Type should be application/json.', null)
  const mail = parsed(body)
  if (!mail) return refuse(400, 'Bad Request', null)
  const fault = faultOf(mail)
  if (fault) return refuse(400, ...fault)
  const [personalization] = mail.personalizations ?? []
  const id = randomBytes(16).toString('base64url')
  const message: SendgridMail = {
    id,
    to: personalization?.to?.[0]?.email ?? '',
    from: mail.from as SendgridMail['from'],
    subject: String(mail.subject),
    content: mail.content as SendgridMail['content'],
    headers: mail.headers ?? {},
    customArgs: { ...mail.custom_args, ...personalization?.custom_args },
  }
  return { kind: 'message', message, answer: { status: 202, headers: { 'x-message-id': id } } }
}

interface Mail {
  readonly personalizations?: ReadonlyArray<{
    readonly to?: ReadonlyArray<{ readonly email?: string }>
    readonly custom_args?: Readonly<Record<string, string>>
  }>
  readonly from?: { readonly email?: string; readonly name?: string }
  readonly subject?: unknown
  readonly content?: ReadonlyArray<{ readonly type?: string; readonly value?: unknown }>
  readonly headers?: Readonly<Record<string, string>>
  readonly custom_args?: Readonly<Record<string, string>>
}

function parsed(body: Buffer): Mail | undefined {
  try {
    return JSON.parse(body.toString('utf8')) ?? undefined
  } catch {
    return undefined
  }
}

const known = new Set(['personalizations', 'from', 'subject', 'content', 'headers', 'custom_args'])

function faultOf(mail: Mail): [message: string, field: string] | undefined {
  const { personalizations = [], from, subject, content = [], headers = {} } = mail
  const unknown = Object.keys(mail).find((name) => !known.has(name))
  if (unknown) return [`Additional property ${unknown} is not allowed`, unknown]
  if (personalizations.length === 0 || personalizations.length > 1_000)
    return ['The personalizations field is required and must have at least one personalization.', 'personalizations']
  if (!personalizations.every(({ to = [] }) => to.length > 0 && to.every(({ email }) => address.test(email ?? ''))))
    return ['Does not contain a valid address.', 'personalizations.0.to.0.email']
  if (!address.test(from?.email ?? '')) return ['The from object must be provided for every email send.', 'from']
  if (!isText(subject)) return ['The subject is required.', 'subject']
  if (content.length === 0 || !content.every(({ type, value }) => isText(type) && isText(value)))
    return ['The content value must be a string at least one character in length.', 'content.0.value']
  const plainAt = content.findIndex(({ type }) => type === 'text/plain')
  if (plainAt > 0) return ['If present, text/plain and text/html must be the first, in this order.', 'content']
  const reserved = Object.entries(headers).find(([name, value]) => ownHeaders.test(name) || /[\r\n]/.test(value))
  if (reserved) return [`The header ${reserved[0]} is reserved or not valid.`, 'headers']
  if (Buffer.byteLength(JSON.stringify(personalizations[0]?.custom_args ?? {})) > 10_000)
    return ['custom_args must not exceed 10,000 bytes.', 'custom_args']
  return undefined
}

function errors(message: string, field: string | null): object {
  return { errors: [{ message, field, help: null }] }
}

function refuse(status: number, why: string, field: string | null): Seen<SendgridMail> {
  return { kind: 'refused', why, answer: { status, body: errors(why, field) } }
}

const names = {
  delivered: { event: 'delivered', response: '250 OK' },
  opened: { event: 'open', sg_machine_open: false },
  clicked: { event: 'click', url: 'https://example.com' },
  complained: { event: 'spamreport' },
} as const

function eventOf({ message, what, soft, eventId, at }: FakeReport, accepted: readonly SendgridMail[]): object {
  const sent = accepted.find(({ id }) => id === message)
  if (!sent) throw new RangeError(`there is no mail ${message}`)
  const bounce = soft
    ? { event: 'bounce', type: 'blocked', status: '5.7.1', reason: '550 5.7.1 policy' }
    : { event: 'bounce', type: 'bounce', status: '5.1.1', reason: '550 5.1.1 no such user' }
  return {
    email: sent.to,
    timestamp: Math.floor((at ?? Date.now()) / 1_000),
    'smtp-id': sent.headers['Message-ID'],
    sg_event_id: eventId ?? randomBytes(16).toString('base64url'),
    sg_message_id: `${message}.recvd-0.1`,
    ...(what === 'bounced' ? bounce : names[what]),
    ...sent.customArgs,
  }
}
