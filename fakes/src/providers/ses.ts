import { randomBytes, randomUUID, sign } from 'node:crypto'
import aws4 from 'aws4'
import type { Fake, FakeReport } from '../fake.ts'
import { selfSigned } from '../server/certificate.ts'
import { type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'

export interface SesFakeSettings {
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly port?: number
}

/** A mail as it was taken. */
export interface SesMail {
  readonly id: string
  readonly to: string
  readonly from: string
  readonly subject: string
  readonly text: string
  readonly html?: string
  readonly headers: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
  readonly configurationSet?: string
}

export interface SesFake extends Fake<SesMail> {
  /** The topic its events come from. */
  readonly topicArn: string
  /** The topics whose subscription was confirmed. */
  readonly confirmed: readonly string[]
  /** Requests for its certificate so far. */
  certificateRequests(): number
  sendWebhook(to: string, reports: readonly FakeReport[]): Promise<number>
  /** Posts a message of SNS's; `change` is done to it after it is signed. Default: a Notification, signed in version 2. */
  sendMessage(to: string, message: object, change?: object): Promise<number>
  /** Asks `to` to confirm the subscription. */
  askToConfirm(to: string, message?: object, change?: object): Promise<number>
}

/** Amazon SES's SendEmail, with SNS for its events: both at one address. Signatures are checked by aws4, which is not ours. */
export async function startSes(settings: SesFakeSettings): Promise<SesFake> {
  const { pem, key } = selfSigned('sns.amazonaws.com')
  const certificatePath = `/SimpleNotificationService-${randomBytes(16).toString('hex')}.pem`
  const topicArn = `arn:aws:sns:${settings.region}:123456789012:ses-events`
  const confirmed: string[] = []
  let certificateRequests = 0
  const fake = await startHttpFake<SesMail>({
    kind: 'ses',
    ...(settings.port === undefined ? {} : { port: settings.port }),
    see(request) {
      if (request.path === certificatePath) {
        certificateRequests += 1
        return { kind: 'aside', answer: { status: 200, body: pem } }
      }
      if (request.query.get('Action') !== 'ConfirmSubscription') return see(request, settings)
      confirmed.push(request.query.get('TopicArn') ?? '')
      return { kind: 'aside', answer: { status: 200, body: '<ConfirmSubscriptionResponse/>' } }
    },
    gone: { status: 400, ...failure('MessageRejected', 'Address blacklisted.') },
    troubled: (status) => ({ message: `configured to answer ${status}` }),
  })
  const origin = { SigningCertURL: `${fake.url}${certificatePath}`, SignatureVersion: '2', TopicArn: topicArn }
  const post = (to: string, notification: object, change: object = {}) =>
    postSigned(to, { ...origin, ...notification }, key, change)
  const sendMessage: SesFake['sendMessage'] = (to, message, change) =>
    post(to, { Type: 'Notification', ...message }, change)
  return {
    ...fake,
    topicArn,
    confirmed,
    certificateRequests: () => certificateRequests,
    sendMessage,
    askToConfirm(to, message = {}, change = {}) {
      const Token = randomBytes(64).toString('hex')
      const query = new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn: topicArn, Token })
      const confirmation = { Type: 'SubscriptionConfirmation', Message: 'You have chosen to subscribe.', Token }
      return post(to, { ...confirmation, SubscribeURL: `${fake.url}/?${query}`, ...message }, change)
    },
    async sendWebhook(to, reports) {
      let status = 0
      for (const report of reports) {
        const message = { Message: JSON.stringify(eventOf(report, fake.requests)) }
        status = await sendMessage(
          to,
          report.eventId === undefined ? message : { ...message, MessageId: report.eventId },
        )
      }
      return status
    },
  }
}

/** Posts a message of SNS's with its signature; `change` is done to it after it is signed. */
async function postSigned(
  to: string,
  message: { readonly SignatureVersion: string },
  key: Parameters<typeof sign>[2],
  change: object,
): Promise<number> {
  const algorithm = message.SignatureVersion === '1' ? 'RSA-SHA1' : 'RSA-SHA256'
  const signed: Record<string, unknown> = { Timestamp: new Date().toISOString(), MessageId: randomUUID(), ...message }
  const Signature = sign(algorithm, Buffer.from(stringToSign(signed)), key).toString('base64')
  const answer = await fetch(to, {
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': String(signed.Type) },
    body: JSON.stringify({ ...signed, Signature, ...change }),
  })
  await answer.body?.cancel()
  return answer.status
}

/** docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html */
function stringToSign(message: Readonly<Record<string, unknown>>): string {
  const names =
    message.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
  return names.flatMap((name) => (message[name] === undefined ? [] : [`${name}\n${message[name]}\n`])).join('')
}

const path = '/v2/email/outbound-emails'
const maxBytes = 10 * 1024 * 1024

function see(request: FakeRequest, settings: SesFakeSettings): Seen<SesMail> {
  if (request.path !== path) return refuse(404, 'UnknownOperationException', 'no such operation')
  if (request.method !== 'POST') return refuse(405, 'UnknownOperationException', 'no such method')
  const unsigned = signatureFault(request, settings)
  if (unsigned) return refuse(403, ...unsigned)
  if (request.headers['content-type'] !== 'application/json')
    return refuse(415, 'UnsupportedMediaTypeException', 'application/json is needed')
  if (request.body.length > maxBytes) return refuse(413, 'RequestEntityTooLarge', 'the mail is too large')
  const mail = parsed(request.body)
  const fault = mail ? faultOf(mail) : 'the body is not JSON'
  if (!mail || fault) return refuse(400, 'BadRequestException', fault ?? '')
  const message = messageOf(mail)
  return { kind: 'message', message, answer: { status: 200, body: { MessageId: message.id } } }
}

const clockSkewMs = 300_000

function signatureFault(
  { method, headers, body }: FakeRequest,
  { region, accessKeyId, secretAccessKey }: SesFakeSettings,
): [name: string, message: string] | undefined {
  const { authorization = '', 'x-amz-date': date = '' } = headers
  const [, credential, names = ''] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=[0-9a-f]{64}$/.exec(authorization) ?? []
  if (!credential) return ['MissingAuthenticationTokenException', 'Missing Authentication Token']
  if (credential.split('/')[0] !== accessKeyId)
    return ['UnrecognizedClientException', 'The security token included in the request is invalid.']
  const at = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(Date.now() - at) <= clockSkewMs)) return ['InvalidSignatureException', 'Signature expired']
  const signed = Object.fromEntries(names.split(';').map((name) => [name, headers[name] ?? '']))
  if (!('host' in signed) || !('x-amz-date' in signed))
    return ['InvalidSignatureException', 'host and x-amz-date must be signed']
  const { headers: expected } = aws4.sign(
    {
      method,
      path,
      service: 'ses',
      region,
      headers: signed,
      body: body.toString('utf8'),
      extraHeadersToIgnore: {
        'content-length': !('content-length' in signed),
        'content-type': !('content-type' in signed),
      },
    },
    { accessKeyId, secretAccessKey },
  )
  if (expected?.Authorization === authorization) return undefined
  return ['InvalidSignatureException', 'The request signature we calculated does not match the signature you provided.']
}

interface Mail {
  readonly FromEmailAddress?: string
  readonly Destination?: { readonly ToAddresses?: readonly string[] }
  readonly Content?: {
    readonly Simple?: {
      readonly Subject?: { readonly Data?: string }
      readonly Body?: { readonly Text?: { readonly Data?: string }; readonly Html?: { readonly Data?: string } }
      readonly Headers?: ReadonlyArray<{ readonly Name?: string; readonly Value?: string }>
    }
  }
  readonly EmailTags?: ReadonlyArray<{ readonly Name?: string; readonly Value?: string }>
  readonly ConfigurationSetName?: string
}

function parsed(body: Buffer): Mail | undefined {
  try {
    return JSON.parse(body.toString('utf8')) ?? undefined
  } catch {
    return undefined
  }
}

const known = new Set(['FromEmailAddress', 'Destination', 'Content', 'EmailTags', 'ConfigurationSetName'])
const address = /^[^@\s<>"]+@[^@\s<>"]+$/
const ownHeaders =
  /^(?:message-id|date|from|to|cc|bcc|subject|return-path|dkim-signature|received|content-.*|mime-version)$/i

function faultOf(mail: Mail): string | undefined {
  const { FromEmailAddress: from = '', Destination, Content, EmailTags = [] } = mail
  const { Subject, Body, Headers = [] } = Content?.Simple ?? {}
  const unknown = Object.keys(mail).find((name) => !known.has(name))
  if (unknown) return `Unexpected key ${unknown}`
  if (!/^[\x20-\x7e]+$/.test(from) || !address.test(/<([^>]*)>$/.exec(from)?.[1] ?? from))
    return 'Missing final @domain'
  const to = Destination?.ToAddresses ?? []
  if (to.length === 0 || to.length > 50 || !to.every((each) => address.test(each))) return 'Invalid destination'
  if (typeof Subject?.Data !== 'string') return 'Subject is required'
  if (typeof Body?.Text?.Data !== 'string' && typeof Body?.Html?.Data !== 'string') return 'Body is required'
  if (Headers.length > 15) return 'Too many headers'
  const header = Headers.find(({ Name = '', Value = '' }) => {
    return !/^[!-9;-~]{1,126}$/.test(Name) || ownHeaders.test(Name) || !/^[\x20-\x7e]{1,995}$/.test(Value)
  })
  if (header) return `Invalid header ${header.Name}`
  const tag = EmailTags.find(
    ({ Name = '', Value = '' }) => !/^[\w-]{1,256}$/.test(Name) || !/^[\w.@-]{1,256}$/.test(Value),
  )
  return tag && `Invalid tag ${tag.Name}`
}

function messageOf({
  FromEmailAddress = '',
  Destination,
  Content,
  EmailTags = [],
  ConfigurationSetName,
}: Mail): SesMail {
  const { Subject, Body, Headers = [] } = Content?.Simple ?? {}
  const html = Body?.Html?.Data
  const record = (list: ReadonlyArray<{ readonly Name?: string; readonly Value?: string }>) =>
    Object.fromEntries(list.map(({ Name = '', Value = '' }) => [Name, Value]))
  return {
    id: `${randomBytes(8).toString('hex')}-${randomUUID()}-000000`,
    to: Destination?.ToAddresses?.[0] ?? '',
    from: FromEmailAddress,
    subject: Subject?.Data ?? '',
    text: Body?.Text?.Data ?? '',
    ...(html === undefined ? {} : { html }),
    headers: record(Headers),
    tags: record(EmailTags),
    ...(ConfigurationSetName === undefined ? {} : { configurationSet: ConfigurationSetName }),
  }
}

function failure(name: string, message: string) {
  return { headers: { 'x-amzn-errortype': name }, body: { message } }
}

function refuse(status: number, name: string, message: string): Seen<SesMail> {
  return { kind: 'refused', why: `${name}: ${message}`, answer: { status, ...failure(name, message) } }
}

/** docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html */
function eventOf({ message, what, soft, at }: FakeReport, accepted: readonly SesMail[]): object {
  const sent = accepted.find(({ id }) => id === message)
  if (!sent) throw new RangeError(`there is no mail ${message}`)
  const timestamp = new Date(at ?? Date.now()).toISOString()
  const tags = Object.fromEntries(Object.entries(sent.tags).map(([name, value]) => [name, [value]]))
  const mail = { timestamp, messageId: message, source: sent.from, destination: [sent.to], tags }
  const bounce = {
    timestamp,
    feedbackId: randomUUID(),
    ...(soft
      ? { bounceType: 'Transient', bounceSubType: 'MailboxFull' }
      : { bounceType: 'Permanent', bounceSubType: 'General' }),
    bouncedRecipients: [{ emailAddress: sent.to, action: 'failed', status: soft ? '5.2.2' : '5.1.1' }],
  }
  const parts = {
    delivered: { eventType: 'Delivery', delivery: { timestamp, smtpResponse: '250 OK', recipients: [sent.to] } },
    opened: { eventType: 'Open', open: { timestamp, userAgent: 'Mozilla/5.0', ipAddress: '192.0.2.1' } },
    clicked: { eventType: 'Click', click: { timestamp, link: 'https://example.com' } },
    bounced: { eventType: 'Bounce', bounce },
    complained: { eventType: 'Complaint', complaint: { timestamp, complainedRecipients: [{ emailAddress: sent.to }] } },
  }
  return { mail, ...parts[what] }
}
