import { createHmac, randomBytes } from 'node:crypto'
import type { Fake, FakeReport } from '../fake.ts'
import { type FakeAnswer, type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'

export interface TwilioFakeSettings {
  readonly accountSid: string
  readonly authToken: string
  readonly port?: number
}

/** A message as Twilio's API describes it, with the address of its status callbacks. */
export interface TwilioMessage {
  readonly sid: string
  readonly status: string
  readonly to: string
  readonly from: string | null
  readonly messaging_service_sid: string | null
  readonly body: string
  /** RFC 2822, as Twilio writes it. */
  readonly date_created: string
  readonly statusCallback: string | undefined
}

const known = new Set(['To', 'From', 'MessagingServiceSid', 'Body', 'StatusCallback'])
const maxListed = 50

/** Twilio's Messages: what it takes, lists and reports (twilio.com/docs/messaging/api/message-resource). */
export async function startTwilio(settings: TwilioFakeSettings): Promise<Fake<TwilioMessage>> {
  const fake = await startHttpFake<TwilioMessage>({
    kind: 'twilio',
    ...(settings.port === undefined ? {} : { port: settings.port }),
    see: (request, accepted) => see(request, settings, accepted),
    gone: { status: 400, body: errorBody(400, 21610, 'Attempt to send to unsubscribed recipient') },
    troubled: (status) => errorBody(status, status === 429 ? 20429 : 20500, `configured to answer ${status}`),
  })
  return {
    ...fake,
    async sendWebhook(to, reports) {
      let status = 0
      for (const report of reports) status = await post(to, report, fake.requests, settings)
      return status
    },
  }
}

function see(
  request: FakeRequest,
  settings: TwilioFakeSettings,
  accepted: readonly TwilioMessage[],
): Seen<TwilioMessage> {
  const { method, path, headers, query, body } = request
  if (!isAuthentic(headers.authorization, settings)) return refuse(401, 20003, 'Authenticate')
  if (path !== `/2010-04-01/Accounts/${settings.accountSid}/Messages.json`)
    return refuse(404, 20404, `The requested resource ${path} was not found`)
  if (method === 'GET') return { kind: 'aside', answer: list(query, accepted, path) }
  if (method !== 'POST') return refuse(405, 20004, 'Method not allowed')
  if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded'))
    return refuse(415, 20415, 'Unsupported media type')
  return seeForm(new URLSearchParams(body.toString('utf8')))
}

function seeForm(form: URLSearchParams): Seen<TwilioMessage> {
  const unknown = [...form.keys()].filter((name) => !known.has(name))
  if (unknown.length > 0) return refuse(400, 20001, `Unknown parameters: ${unknown.join(', ')}`)
  const [to, text, callback] = [form.get('To') ?? '', form.get('Body') ?? '', form.get('StatusCallback')]
  const [from, service] = [form.get('From'), form.get('MessagingServiceSid')]
  if (!to) return refuse(400, 21604, "A 'To' phone number is required.")
  if (!/^\+[1-9]\d{6,14}$/.test(to)) return refuse(400, 21211, `The 'To' number ${to} is not a valid phone number.`)
  if ((from === null) === (service === null)) return refuse(400, 21603, "A 'From' phone number is required.")
  if (!text) return refuse(400, 21602, 'Message body is required.')
  if (text.length > 1600) return refuse(400, 21617, 'The concatenated message body exceeds the 1600 character limit.')
  if (callback !== null && !URL.canParse(callback)) return refuse(400, 21609, 'The StatusCallback URL is not valid.')
  const message: TwilioMessage = {
    sid: `SM${randomBytes(16).toString('hex')}`,
    status: service === null ? 'queued' : 'accepted',
    to,
    from,
    messaging_service_sid: service,
    body: text,
    date_created: new Date().toUTCString().replace('GMT', '+0000'),
    statusCallback: callback ?? undefined,
  }
  return { kind: 'message', message, answer: { status: 201, body: resource(message) } }
}

function isAuthentic(field: string | undefined, { accountSid, authToken }: TwilioFakeSettings): boolean {
  return field === `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
}

function list(query: URLSearchParams, accepted: readonly TwilioMessage[], path: string): FakeAnswer {
  const since = Date.parse(query.get('DateSent>') ?? '1970-01-01')
  const [size, page] = [Number(query.get('PageSize') ?? maxListed), Number(query.get('Page') ?? 0)]
  const messages = accepted
    .filter(({ to }) => !query.has('To') || to === query.get('To'))
    .filter(({ date_created }) => Date.parse(date_created) >= since)
    .toReversed()
  const end = (page + 1) * size
  const next = new URLSearchParams([...query].filter(([name]) => name !== 'Page').concat([['Page', String(page + 1)]]))
  return {
    status: 200,
    body: {
      messages: messages.slice(page * size, end).map(resource),
      page,
      page_size: size,
      next_page_uri: end < messages.length ? `${path}?${next}` : null,
    },
  }
}

function resource({ statusCallback: _, ...rest }: TwilioMessage) {
  return { ...rest, error_code: null, error_message: null, num_segments: '1', direction: 'outbound-api' }
}

function refuse(status: number, code: number, why: string): Seen<TwilioMessage> {
  return { kind: 'refused', why: `${code}: ${why}`, answer: { status, body: errorBody(status, code, why) } }
}

function errorBody(status: number, code: number, message: string) {
  return { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status }
}

/** A status callback, signed over the address that the message named, and posted to `to` with that address's query. */
async function post(
  to: string,
  { message, what, soft }: FakeReport,
  accepted: readonly TwilioMessage[],
  { accountSid, authToken }: TwilioFakeSettings,
): Promise<number> {
  const sent = accepted.find(({ sid }) => sid === message)
  if (!sent?.statusCallback) throw new RangeError(`there is no message ${message} with a status callback`)
  const form = {
    ...statusOf(what, soft),
    MessageSid: sent.sid,
    AccountSid: accountSid,
    To: sent.to,
    From: sent.from ?? '',
  }
  const signed = Object.entries(form)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => name + value)
    .join('')
  const signature = createHmac('sha1', authToken)
    .update(sent.statusCallback + signed)
    .digest('base64')
  const answer = await fetch(new URL(new URL(sent.statusCallback).search, to), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8', 'x-twilio-signature': signature },
    body: new URLSearchParams(form).toString(),
  })
  await answer.body?.cancel()
  return answer.status
}

function statusOf(what: FakeReport['what'], soft: boolean | undefined): Record<string, string> {
  if (what === 'delivered') return { MessageStatus: 'delivered' }
  if (what === 'opened') return { MessageStatus: 'read' }
  if (what === 'bounced') return { MessageStatus: 'undelivered', ErrorCode: soft ? '30003' : '30005' }
  throw new RangeError(`Twilio does not report ${what}`)
}
