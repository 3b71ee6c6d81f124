import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createScript, type Fake } from '../fake.ts'
import { readJwt } from '../server/jwt.ts'

export interface ApnsFakeSettings {
  readonly port?: number
  /** Streams that a connection may carry at once. Default 1000. */
  readonly streams?: number
  /** How long a connection holds to a provider token before it takes another, in seconds. Default 1200. */
  readonly tokenSeconds?: number
}

export interface ApnsMessage {
  readonly deviceToken: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: { readonly aps?: unknown; readonly [member: string]: unknown }
}

export interface ApnsFake extends Fake<ApnsMessage> {
  /** The .p8 key, in PEM, and what belongs to it. */
  readonly key: string
  readonly keyId: string
  readonly teamId: string
  readonly topic: string
  /** Connections that were made so far. */
  connections(): number
  /** The most streams that were open on one connection at once. */
  maxStreams(): number
  /** Says GOAWAY on every connection: those under way are finished. */
  goAway(): void
  /** Cuts every connection. */
  cut(): void
}

const keyId = 'ABC1234567'
const teamId = 'DEF1234567'
const topic = 'com.example.app'
const maxPayloadBytes = 4_096
const tokenAgeMs = 3_600_000

interface Answer {
  readonly status: number
  readonly reason?: string
  readonly timestamp?: number
  readonly body?: unknown
  readonly retryAfter?: number
}

/** Apple's push service: HTTP/2 without TLS, with its checks of headers and provider tokens. */
export async function startApns(settings: ApnsFakeSettings = {}): Promise<ApnsFake> {
  const { port = 0, streams = 1_000, tokenSeconds = 1_200 } = settings
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const seen: SeenByApns = { requests: [], refusals: [], script: createScript(), connections: 0, maxStreams: 0 }
  const sessions = new Map<ServerHttp2Session, TokensOfSession>()
  const server = createServer({ settings: { maxConcurrentStreams: streams } })
  server.on('session', (session) => {
    seen.connections += 1
    sessions.set(session, { tokens: new Map(), tokenMs: tokenSeconds * 1_000, streams: 0 })
    session.on('error', () => {}).on('close', () => sessions.delete(session))
  })
  server.on('request', async (request, response) => {
    const session = request.stream.session as ServerHttp2Session | undefined
    const known = session && sessions.get(session)
    if (!session || !known) return
    known.streams += 1
    seen.maxStreams = Math.max(seen.maxStreams, known.streams)
    request.stream
      .on('error', () => {})
      .on('close', () => {
        known.streams -= 1
      })
    const body = await read(request)
    const result = resultOf(request, body, faultOf(request, body, publicKey, known), seen)
    if (result === 'drop') session.destroy()
    else if (result !== 'hang') answer(request, response, result)
  })
  server.listen(port, '127.0.0.1')
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  const cut = () => {
    for (const session of sessions.keys()) session.destroy()
  }
  return {
    kind: 'apns',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: seen.requests,
    refusals: seen.refusals,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    keyId,
    teamId,
    topic,
    connections: () => seen.connections,
    maxStreams: () => seen.maxStreams,
    answerNext: (behaviour, times) => seen.script.enqueue(behaviour, times),
    goAway() {
      for (const session of sessions.keys()) session.close()
    },
    cut,
    stop() {
      cut()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** What the server has seen, and what it is to do next. */
interface SeenByApns {
  readonly requests: ApnsMessage[]
  readonly refusals: string[]
  readonly script: ReturnType<typeof createScript>
  connections: number
  maxStreams: number
}

/** Records a request, and decides what becomes of it. */
function resultOf(
  request: Http2ServerRequest,
  body: Buffer,
  fault: Answer | undefined,
  { requests, refusals, script }: SeenByApns,
): Answer | 'hang' | 'drop' {
  if (fault) {
    refusals.push(fault.reason ?? String(fault.status))
    return fault
  }
  const behaviour = script.next()
  if (behaviour === undefined || behaviour === 'drop') requests.push(messageOf(request, body))
  if (behaviour === 'gone') return { status: 410, reason: 'Unregistered', timestamp: Date.now() }
  return behaviour ?? { status: 200 }
}

interface TokensOfSession {
  /** When each provider token was first seen on the connection. */
  readonly tokens: Map<string, number>
  readonly tokenMs: number
  streams: number
}

async function read(request: Http2ServerRequest): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const pushTypes = [
  'alert',
  'background',
  'location',
  'voip',
  'complication',
  'fileprovider',
  'mdm',
  'liveactivity',
  'pushtotalk',
]

function faultOf(
  { method, url, headers }: Http2ServerRequest,
  body: Buffer,
  key: KeyObject,
  session: TokensOfSession,
): Answer | undefined {
  if (method !== 'POST') return { status: 405, reason: 'MethodNotAllowed' }
  const [, token] = /^\/3\/device\/([^/]*)$/.exec(url) ?? []
  if (token === undefined) return { status: 404, reason: 'BadPath' }
  const ofToken = tokenFault(String(headers.authorization ?? ''), key, session)
  if (ofToken) return ofToken
  if (!token) return { status: 400, reason: 'MissingDeviceToken' }
  if (!/^(?:[0-9a-f]{2}){8,100}$/i.test(token)) return { status: 400, reason: 'BadDeviceToken' }
  if (headers['apns-topic'] === undefined) return { status: 400, reason: 'MissingTopic' }
  if (headers['apns-topic'] !== topic) return { status: 400, reason: 'DeviceTokenNotForTopic' }
  const id = headers['apns-id']
  if (id !== undefined && !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(String(id)))
    return { status: 400, reason: 'BadMessageId' }
  if (!pushTypes.includes(String(headers['apns-push-type']))) return { status: 400, reason: 'InvalidPushType' }
  if (!['10', '5', '1', 'undefined'].includes(String(headers['apns-priority'])))
    return { status: 400, reason: 'BadPriority' }
  if (!/^\d{1,10}$/.test(String(headers['apns-expiration'] ?? '0'))) return { status: 400, reason: 'BadExpirationDate' }
  if (!/^[\x21-\x7e]{0,64}$/.test(String(headers['apns-collapse-id'] ?? '')))
    return { status: 400, reason: 'BadCollapseId' }
  if (body.length === 0) return { status: 400, reason: 'PayloadEmpty' }
  return body.length > maxPayloadBytes ? { status: 413, reason: 'PayloadTooLarge' } : undefined
}

function tokenFault(authorization: string, key: KeyObject, { tokens, tokenMs }: TokensOfSession): Answer | undefined {
  const [, token] = /^bearer (.+)$/i.exec(authorization) ?? []
  if (!token) return { status: 403, reason: 'MissingProviderToken' }
  const jwt = readJwt(token, 'ES256', key)
  if (!jwt || jwt.header.kid !== keyId || jwt.claims.iss !== teamId)
    return { status: 403, reason: 'InvalidProviderToken' }
  const now = Date.now()
  const age = now - Number(jwt.claims.iat) * 1_000
  if (Number.isNaN(age) || age < -60_000) return { status: 403, reason: 'InvalidProviderToken' }
  if (age > tokenAgeMs) return { status: 403, reason: 'ExpiredProviderToken' }
  const latest = Math.max(...tokens.values())
  if (!tokens.has(token) && now - latest < tokenMs) return { status: 429, reason: 'TooManyProviderTokenUpdates' }
  if (!tokens.has(token)) tokens.set(token, now)
  return undefined
}

function messageOf({ url, headers }: Http2ServerRequest, body: Buffer): ApnsMessage {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('apns-'))
  return {
    deviceToken: url.slice('/3/device/'.length),
    headers: Object.fromEntries(own) as Record<string, string>,
    payload: JSON.parse(body.toString('utf8')),
  }
}

function answer(request: Http2ServerRequest, response: Http2ServerResponse, result: Answer): void {
  const {
    status,
    reason,
    timestamp,
    body = reason && { reason, ...(timestamp ? { timestamp } : {}) },
    retryAfter,
  } = result
  response.writeHead(status, {
    'apns-id': request.headers['apns-id'] ?? 'none',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  })
  response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
}
