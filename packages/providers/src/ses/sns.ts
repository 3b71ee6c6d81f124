import { type KeyObject, X509Certificate } from 'node:crypto'
import { isSignedBy } from '../signature/verify-signature.ts'
import { createHttpClient, type HttpClient } from '../transport/http.ts'

/** A message of SNS's, as it is posted to an HTTP endpoint (docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html). */
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

/** A body as a message of SNS's, undefined when it is none. */
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

/** Where the SNS of a topic's region is. */
export function snsOriginOf(topicArn: string): string {
  const [, partition, , region] = topicArn.split(':')
  return `https://sns.${region}.amazonaws.com${partition === 'aws-cn' ? '.cn' : ''}`
}

/** Whether the signature is by the certificate's key: SHA-1 in version 1, SHA-256 in version 2. */
export async function isSnsSigned(message: SnsMessage, key: KeyObject): Promise<boolean> {
  const names = message.Type === 'Notification' ? notificationFields : confirmationFields
  const text = names
    .filter((name) => typeof message[name as keyof SnsMessage] === 'string')
    .map((name) => `${name}\n${message[name as keyof SnsMessage]}\n`)
    .join('')
  const algorithm = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' }[message.SignatureVersion]
  if (algorithm === undefined) return false
  return isSignedBy(key, algorithm, Buffer.from(text), Buffer.from(message.Signature, 'base64'))
}

const certificatePath = /^\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/
const maxCertificates = 16
const maxFetches = 10
const fetchWindowMs = 60_000

/** SNS of one origin: its certificates, which are fetched seldom and kept, and the confirming of subscriptions. */
export interface SnsClient {
  /**
   * The key of the certificate at an address; undefined when that is none of SNS's, `away` when SNS doesn't answer,
   * `busy` when too many were asked for.
   */
  fetchKey(url: string, now: number): Promise<KeyObject | 'away' | 'busy' | undefined>
  /** Confirms the subscription to a topic. False when the address is no such thing of SNS's. */
  confirmSubscription(url: string, topicArn: string): Promise<boolean>
  close(): Promise<void>
}

/** Nothing but `origin` is ever called, no redirect is followed, and forged messages can't make us fetch again and again. */
export function createSnsClient(origin: URL, callMs: number): SnsClient {
  const caller = createHttpClient(origin, { timeoutMs: callMs, connections: 2 })
  const kept = new Map<string, Promise<X509Certificate | 'away' | undefined>>()
  let fetches: number[] = []
  const fetchOnce = (path: string, now: number) => {
    fetches = fetches.filter((at) => at > now - fetchWindowMs)
    if (fetches.length >= maxFetches) return 'busy'
    fetches.push(now)
    const fetched = fetchCertificate(caller, path)
    if (kept.size >= maxCertificates) kept.delete(kept.keys().next().value ?? '')
    kept.set(path, fetched)
    void fetched.then((certificate) => certificate instanceof X509Certificate || kept.delete(path))
    return fetched
  }
  return {
    async fetchKey(text, now) {
      const url = URL.parse(text)
      if (url?.origin !== origin.origin || url.search || url.username || !certificatePath.test(url.pathname))
        return undefined
      const certificate = await (kept.get(url.pathname) ?? fetchOnce(url.pathname, now))
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
      const { status } = await caller.request({ method: 'GET', path: `/${url.search}` }, AbortSignal.timeout(callMs))
      if (status !== 200) throw new Error(`SNS answered ${status} when the subscription was confirmed`)
      return true
    },
    close: () => caller.close(),
  }
}

/** SNS has no such certificate, or it isn't there itself: only the one says that a message is forged. */
async function fetchCertificate(caller: HttpClient, path: string): Promise<X509Certificate | 'away' | undefined> {
  const answer = await caller.request({ method: 'GET', path }, new AbortController().signal).catch(() => undefined)
  if (answer === undefined || answer.status === 429 || answer.status >= 500) return 'away'
  try {
    return answer.status === 200 ? new X509Certificate(answer.body) : undefined
  } catch {
    return undefined
  }
}
