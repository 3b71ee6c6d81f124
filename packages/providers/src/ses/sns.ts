import { type KeyObject, X509Certificate } from 'node:crypto'
import { verifySignature } from '../signature/verify-signature.ts'
import { createHttpClient, type HttpClient } from '../transport/http.ts'

/** An SNS message to an HTTP endpoint (docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html). */
export interface SnsMessage {
  readonly Type: 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation'
  readonly MessageId: string
  readonly TopicArn: string
  readonly Message: string
  readonly Timestamp: string
  readonly SignatureVersion: string
  readonly Signature: string
  readonly SigningCertURL: string
  readonly Subject?: string
  readonly SubscribeURL?: string
  readonly Token?: string
}

const notificationFields = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'] as const
const confirmationFields = ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'] as const
const requiredFields = [
  'MessageId',
  'TopicArn',
  'Message',
  'Timestamp',
  'SignatureVersion',
  'Signature',
  'SigningCertURL',
] as const
const types = ['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']

/** Parses an SNS message. Undefined if the body is anything else. */
export function parseSnsMessage(body: Buffer): SnsMessage | undefined {
  try {
    const value = JSON.parse(body.toString('utf8')) as Record<string, unknown> | null
    if (!types.includes(String(value?.Type)) || requiredFields.some((name) => typeof value?.[name] !== 'string'))
      return undefined
    return value as unknown as SnsMessage
  } catch {
    return undefined
  }
}

/** The origin of SNS in the region of a topic. */
export function snsOriginOf(topicArn: string): string {
  const [, partition, , region] = topicArn.split(':')
  return `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

/** Whether a message is signed with the key of the certificate: SHA-1 in version 1, SHA-256 in version 2. */
export async function isSnsSigned(message: SnsMessage, key: KeyObject): Promise<boolean> {
  const names = message.Type === 'Notification' ? notificationFields : confirmationFields
  const text = names
    .filter((name) => typeof message[name as keyof SnsMessage] === 'string')
    .map((name) => `${name}\n${message[name as keyof SnsMessage]}\n`)
    .join('')
  const algorithm = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' }[message.SignatureVersion]
  if (algorithm === undefined) return false
  return verifySignature(key, algorithm, Buffer.from(text), Buffer.from(message.Signature, 'base64'))
}

const certificatePath = /^\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/
const maxCertificates = 16
const maxFetches = 10
const fetchWindowMs = 60_000

/** SNS at one origin: its signing certificates, which are cached, and the confirmation of subscriptions. */
export interface SnsClient {
  /**
   * The key of the certificate at a URL. Undefined if it is not a valid certificate of SNS, `unavailable` if SNS does
   * not respond, `busy` if too many certificates were requested within a minute.
   */
  fetchKey(url: string, now: number): Promise<KeyObject | 'unavailable' | 'busy' | undefined>
  /**
   * Confirms the subscription to a topic. False if the URL is not that of a confirmation for the topic.
   * @throws Error if SNS does not confirm it
   */
  confirmSubscription(url: string, topicArn: string): Promise<boolean>
  close(): Promise<void>
}

/**
 * Creates a client that calls nothing but `origin` and follows no redirect. Requests for certificates are limited, since
 * forged messages name them too.
 */
export function createSnsClient(origin: URL, timeoutMs: number): SnsClient {
  const client = createHttpClient(origin, { timeoutMs, connections: 2 })
  const certificates = createCertificates(client)
  return {
    async fetchKey(text, now) {
      const url = URL.parse(text)
      if (url?.origin !== origin.origin || url.search || url.username || !certificatePath.test(url.pathname))
        return undefined
      const certificate = await certificates(url.pathname, now)
      if (!(certificate instanceof X509Certificate)) return certificate
      const isValid = now >= certificate.validFromDate.getTime() && now <= certificate.validToDate.getTime()
      return isValid ? certificate.publicKey : undefined
    },
    async confirmSubscription(text, topicArn) {
      const url = URL.parse(text)
      const isConfirmation =
        url?.origin === origin.origin &&
        url.pathname === '/' &&
        url.searchParams.get('Action') === 'ConfirmSubscription' &&
        url.searchParams.get('TopicArn') === topicArn
      if (!isConfirmation) return false
      const request = { method: 'GET', path: `/${url.search}` } as const
      const { status } = await client.request(request, AbortSignal.timeout(timeoutMs))
      if (status !== 200) throw new Error(`SNS answered ${status} when the subscription was confirmed`)
      return true
    },
    close: () => client.close(),
  }
}

type FetchedCertificate = X509Certificate | 'unavailable' | undefined

/** Fetches certificates by path, each once while it is cached. */
function createCertificates(client: HttpClient) {
  const cached = new Map<string, Promise<FetchedCertificate>>()
  let fetches: number[] = []
  return (path: string, now: number): Promise<FetchedCertificate> | 'busy' => {
    const known = cached.get(path)
    if (known) return known
    fetches = fetches.filter((at) => at > now - fetchWindowMs)
    if (fetches.length >= maxFetches) return 'busy'
    fetches.push(now)
    const fetched = fetchCertificate(client, path)
    if (cached.size >= maxCertificates) cached.delete(cached.keys().next().value ?? '')
    cached.set(path, fetched)
    void fetched.then((certificate) => certificate instanceof X509Certificate || cached.delete(path))
    return fetched
  }
}

/** Undefined if SNS has no such certificate, which proves a forgery; `unavailable` if SNS does not respond. */
async function fetchCertificate(client: HttpClient, path: string): Promise<FetchedCertificate> {
  const response = await client.request({ method: 'GET', path }, new AbortController().signal).catch(() => undefined)
  if (response === undefined || response.status === 429 || response.status >= 500) return 'unavailable'
  try {
    return response.status === 200 ? new X509Certificate(response.body) : undefined
  } catch {
    return undefined
  }
}
