import { createECDH, createPublicKey, type ECDH, randomBytes } from 'node:crypto'
import { decrypt } from 'http_ece'
import type { Fake } from '../fake.ts'
import { type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'
import { readJwt } from '../server/jwt.ts'

export interface WebPushFakeSettings {
  readonly port?: number
}

/** A push as the browser reads it, with what the push service was told. */
export interface WebPushMessage {
  readonly subscription: string
  readonly ttl: number
  readonly urgency: string
  readonly topic: string | undefined
  /** The decrypted text. */
  readonly text: string
}

export interface WebPushFake extends Fake<WebPushMessage> {
  /** The VAPID keys that its subscriptions were made for. */
  readonly publicKey: string
  readonly privateKey: string
  /** A browser subscribes: the JSON that it would hand to its page. */
  subscribe(): string
  /** The user withdraws a subscription. */
  unsubscribe(subscription: string): void
}

interface Browser {
  readonly keys: ECDH
  readonly auth: string
}

const maxBytes = 4_096
const urgencies = ['very-low', 'low', 'normal', 'high']

/** A browser's push service and its browsers: checks who pushes (RFC 8292) and decrypts what comes (RFC 8291). */
export async function startWebPush({ port }: WebPushFakeSettings = {}): Promise<WebPushFake> {
  const vapid = createECDH('prime256v1')
  const publicKey = vapid.generateKeys('base64url')
  const browsers = new Map<string, Browser>()
  const fake: Fake<WebPushMessage> = await startHttpFake<WebPushMessage>({
    kind: 'web-push',
    ...(port === undefined ? {} : { port }),
    see: (request) => see(request, browsers, publicKey, fake.url),
    gone: { status: 410, body: 'push subscription has unsubscribed or expired.\n' },
    troubled: (status) => `configured to answer ${status}\n`,
  })
  return {
    ...fake,
    publicKey,
    // A key whose first bytes are zero comes without them.
    privateKey: Buffer.concat([Buffer.alloc(32), vapid.getPrivateKey()])
      .subarray(-32)
      .toString('base64url'),
    subscribe() {
      const id = randomBytes(12).toString('base64url')
      const browser = { keys: createECDH('prime256v1'), auth: randomBytes(16).toString('base64url') }
      browser.keys.generateKeys()
      browsers.set(id, browser)
      const keys = { p256dh: browser.keys.getPublicKey('base64url'), auth: browser.auth }
      return JSON.stringify({ endpoint: `${fake.url}/push/${id}`, expirationTime: null, keys })
    },
    unsubscribe(subscription) {
      const { endpoint } = JSON.parse(subscription) as { endpoint: string }
      browsers.delete(endpoint.slice(endpoint.lastIndexOf('/') + 1))
    },
  }
}

function see(
  { method, path, headers, body }: FakeRequest,
  browsers: ReadonlyMap<string, Browser>,
  publicKey: string,
  origin: string,
): Seen<WebPushMessage> {
  if (method !== 'POST' || !path.startsWith('/push/')) return refuse(404, 'no push resource')
  const { ttl = '', urgency = 'normal', topic, authorization = '' } = headers
  if (!/^\d+$/.test(ttl)) return refuse(400, 'missing or invalid TTL header')
  if (headers['content-encoding'] !== 'aes128gcm') return refuse(415, 'Content-Encoding must be aes128gcm')
  if (!urgencies.includes(urgency)) return refuse(400, 'invalid Urgency header')
  if (topic !== undefined && !/^[\w-]{1,32}$/.test(topic)) return refuse(400, 'invalid Topic header')
  const whyNotVapid = vapidFault(authorization, publicKey, origin)
  if (whyNotVapid) return whyNotVapid
  if (body.length > maxBytes) return refuse(413, 'the payload is larger than 4096 bytes')
  const subscription = path.slice('/push/'.length)
  const browser = browsers.get(subscription)
  if (!browser)
    return {
      kind: 'refused',
      why: 'gone',
      answer: { status: 410, body: 'push subscription has unsubscribed or expired.\n' },
    }
  const text = decrypted(body, browser)
  if (text === undefined) return refuse(400, 'the payload can not be decrypted')
  const location = `${origin}/message/${randomBytes(12).toString('base64url')}`
  const message = { subscription, ttl: Number(ttl), urgency, topic, text }
  return { kind: 'message', message, answer: { status: 201, headers: { location } } }
}

function vapidFault(authorization: string, publicKey: string, origin: string): Seen<WebPushMessage> | undefined {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/i.exec(authorization) ?? []
  if (!token) return refuse(401, 'missing VAPID authorization')
  const point = Buffer.from(key, 'base64url')
  if (point.length !== 65) return refuse(401, 'invalid VAPID key')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' }
  const claims = readJwt(token, 'ES256', createPublicKey({ key: jwk, format: 'jwk' }))?.claims
  if (!claims) return refuse(401, 'invalid VAPID signature')
  const now = Date.now() / 1_000
  if (claims.aud !== origin) return refuse(401, 'VAPID aud must be the origin of the endpoint')
  if (typeof claims.exp !== 'number' || claims.exp <= now || claims.exp > now + 86_400)
    return refuse(401, 'VAPID exp must be within 24 hours')
  if (!/^(mailto:|https:)/.test(String(claims.sub))) return refuse(401, 'VAPID sub must be mailto: or https:')
  if (key !== publicKey) return refuse(403, 'the VAPID key is not that of the subscription')
  return undefined
}

function decrypted(body: Buffer, { keys, auth }: Browser): string | undefined {
  try {
    return decrypt(body, { version: 'aes128gcm', privateKey: keys, authSecret: auth }).toString('utf8')
  } catch {
    return undefined
  }
}

function refuse(status: number, why: string): Seen<WebPushMessage> {
  return { kind: 'refused', why, answer: { status, body: `${why}\n` } }
}
