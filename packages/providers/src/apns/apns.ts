import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { createCollapseId } from '../push/collapse-id.ts'
import { createPushData, fitPayload } from '../push/push-data.ts'
import { type HttpResponse, parseBaseUrl } from '../transport/http.ts'
import { createHttp2Client, type Http2Client, resultOfStreamError } from '../transport/http2.ts'
import { type ApnsTokens, createApnsTokens, parseApnsKey } from './provider-token.ts'
import { isTokenRejected, resultOfResponse } from './send-result.ts'

const environments = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
} as const
const maxPayloadBytes = 4_096
const tokenPattern = /^(?:[0-9a-f]{2}){8,100}$/i

interface Apns {
  readonly caller: Http2Client
  readonly tokens: ApnsTokens
  readonly topic: string
  readonly ttlMs: number
  now(): number
  /** Set once a push was taken. */
  proven: boolean
}

/** Carries push over Apple's service (developer.apple.com, "Sending notification requests to APNs"). */
export const apns = defineProvider({
  kind: 'apns',
  channels: ['push'],
  description: "Push over Apple's service, to devices whose service is apns.",
  members: {
    key: Type.String({
      minLength: 1,
      description: "Apple's .p8 key: its text, or the path of its file from the configuration file.",
      examples: ['./AuthKey_ABC123DEFG.p8', '${APNS_KEY}'],
    }),
    key_id: Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'The id of the key.', examples: ['ABC123DEFG'] }),
    team_id: Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'The id of the team.', examples: ['DEF123GHIJ'] }),
    topic: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "The app's bundle id.",
      examples: ['com.example.app'],
    }),
    environment: Type.Optional(
      Type.Enum(['production', 'sandbox'], {
        description: 'Devices of apps from the App Store and TestFlight, or of apps in development.',
        default: 'production',
      }),
    ),
    url: Type.Optional(Type.String({ description: "APNs's address, in place of the environment's." })),
    connections: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 32, description: 'Most connections; each carries many pushes.', default: 4 }),
    ),
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const { environment = 'production', connections = 4, timeout_seconds: seconds = 10 } = declared
    const callMs = seconds * 1_000
    const origin = parseBaseUrl('url', declared.url ?? environments[environment]).origin
    const key = { key: readKey(declared.key, context.folder), keyId: declared.key_id, teamId: declared.team_id }
    const settings: Apns = {
      caller: createHttp2Client(origin, { connections, timeoutMs: callMs }),
      tokens: createApnsTokens(key, context.clock),
      topic: declared.topic,
      ttlMs: (declared.ttl_seconds ?? maxTtlSeconds) * 1_000,
      now: () => context.clock.now(),
      proven: false,
    }
    return {
      name: context.name,
      channel: 'push',
      timeoutMs: 2 * callMs,
      batchSize: 10,
      supports: ({ service }) => service === 'apns',
      checkToken: (token) =>
        tokenPattern.test(token) ? undefined : "must be Apple's device token in hexadecimal digits",
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(settings, message, signal))),
      async close() {
        settings.caller.close()
      },
    }
  },
})

function readKey(given: string, folder: string) {
  try {
    return parseApnsKey(readTextOrFile(given, /^\s*-----BEGIN/, folder))
  } catch (error) {
    throw new RangeError(`key ${(error as Error).message}`)
  }
}

/** A push whose provider token is refused is sent once more with a new one, when Apple allows one. */
async function sendPush(apns: Apns, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const body = JSON.stringify(fitPayload(message, createPayload, maxPayloadBytes))
  if (Buffer.byteLength(body) > maxPayloadBytes)
    return { kind: 'permanent', code: 'PayloadTooLarge', reason: `APNs takes ${maxPayloadBytes} bytes at most` }
  const calledAt = apns.now()
  const token = apns.tokens.get()
  try {
    let answer = await call(apns, message, body, token, signal)
    if (isTokenRejected(answer) && apns.tokens.renew(token))
      answer = await call(apns, message, body, apns.tokens.get(), signal)
    if (answer.status === 200) apns.proven = true
    return resultOfResponse(answer, calledAt, apns.proven)
  } catch (error) {
    return resultOfStreamError(error)
  }
}

function call(
  { caller, topic, ttlMs, now }: Apns,
  { id, target }: OutgoingMessage,
  body: string,
  token: string,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const headers = {
    ':method': 'POST',
    ':path': `/3/device/${encodeURIComponent(target.address)}`,
    authorization: `bearer ${token}`,
    'apns-id': createApnsId(id),
    'apns-topic': topic,
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': String(ttlMs === 0 ? 0 : Math.floor((now() + ttlMs) / 1_000)),
    'apns-collapse-id': createCollapseId(id, 64),
  }
  return caller.request(headers, body, signal)
}

function createPayload(message: OutgoingMessage): object {
  const { content } = message
  const alert = { ...(content.subject === undefined ? {} : { title: content.subject }), body: content.body }
  return { aps: { alert, sound: 'default' }, ...createPushData(message) }
}

/** A UUID that is the same for the same message (RFC 9562 §5.8, from its hash). */
function createApnsId(messageId: string): string {
  const hex = hash('sha256', messageId)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
