import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { http2Connections, maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import { readTextOrFile } from '../kind/text-or-file.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createCollapseId } from '../push/collapse-id.ts'
import { createPushData, fitPayload, measurePayload, type PushSize } from '../push/push-data.ts'
import { parseBaseUrl } from '../transport/http.ts'
import { createHttp2Client, type Http2Client, resultOfStreamError } from '../transport/http2.ts'
import { type ApnsTokens, createApnsTokens, parseApnsKey } from './provider-token.ts'
import { isTokenRejected, resultOfResponse } from './send-result.ts'

const environments = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
} as const
const maxPayloadBytes = 4_096
const tokenPattern = /^(?:[0-9a-f]{2}){8,100}$/i

interface ApnsSender {
  readonly client: Http2Client
  readonly tokens: ApnsTokens
  readonly topic: string
  readonly ttlMs: number
  now(): number
  /** Set once a push was accepted: environment and topic are right. */
  proven: boolean
}

/** Push over the Apple Push Notification service (developer.apple.com, "Sending notification requests to APNs"). */
export const apns = defineProvider({
  kind: 'apns',
  channels: ['push'],
  description: 'Push over the Apple Push Notification service, to devices whose service is apns.',
  options: {
    key: Type.String({
      minLength: 1,
      description: "Apple's .p8 key: its text, or the path of its file relative to the configuration file.",
      examples: ['./AuthKey_ABC123DEFG.p8', '${APNS_KEY}'],
    }),
    key_id: Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'The id of the key.', examples: ['ABC123DEFG'] }),
    team_id: Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'The id of the team.', examples: ['DEF123GHIJ'] }),
    topic: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The bundle id of the app.',
      examples: ['com.example.app'],
    }),
    environment: Type.Optional(
      Type.Enum(['production', 'sandbox'], {
        description: 'production: apps from the App Store and TestFlight; sandbox: apps in development.',
        default: 'production',
      }),
    ),
    url: Type.Optional(Type.String({ description: 'Base URL of APNs. Default: that of the environment.' })),
    connections: http2Connections,
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const { environment = 'production', connections = 4, timeout_seconds: seconds = 10 } = options
    const timeoutMs = seconds * 1_000
    const { origin } = parseBaseUrl('url', options.url ?? environments[environment])
    const key = { key: readKey(options.key, context.folder), keyId: options.key_id, teamId: options.team_id }
    const sender: ApnsSender = {
      client: createHttp2Client(origin, { connections, timeoutMs }),
      tokens: createApnsTokens(key, context.clock),
      topic: options.topic,
      ttlMs: (options.ttl_seconds ?? maxTtlSeconds) * 1_000,
      now: () => context.clock.now(),
      proven: false,
    }
    return {
      timeoutMs: 2 * timeoutMs,
      batchSize: 10,
      supports: ({ service }) => service === 'apns',
      checkToken: (token) =>
        tokenPattern.test(token) ? undefined : "must be Apple's device token in hexadecimal digits",
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(sender, message, signal))),
      async close() {
        sender.client.close()
      },
    }
  },
})

function readKey(textOrFile: string, folder: string) {
  try {
    return parseApnsKey(readTextOrFile(textOrFile, /^\s*-----BEGIN/, folder))
  } catch (error) {
    throw new RangeError(`key ${(error as Error).message}`)
  }
}

/** Sends a push; once more with a new provider token if that was rejected and Apple allows a new one. */
async function sendPush(sender: ApnsSender, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const { client, tokens, now } = sender
  const body = JSON.stringify(fitPayload(message, createPayload, maxPayloadBytes))
  if (Buffer.byteLength(body) > maxPayloadBytes)
    return { kind: 'permanent', code: 'PayloadTooLarge', reason: `APNs accepts at most ${maxPayloadBytes} bytes` }
  const calledAt = now()
  const token = tokens.get()
  try {
    let response = await client.request(createRequestHeaders(sender, message, token), body, signal)
    if (isTokenRejected(response) && tokens.renew(token))
      response = await client.request(createRequestHeaders(sender, message, tokens.get()), body, signal)
    if (response.status === 200) sender.proven = true
    return resultOfResponse(response, calledAt, sender.proven)
  } catch (error) {
    return resultOfStreamError(error)
  }
}

function createRequestHeaders({ topic, ttlMs, now }: ApnsSender, { id, target }: OutgoingMessage, token: string) {
  return {
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
}

function createPayload(message: OutgoingMessage): object {
  const { content } = message
  const alert = { ...(content.subject === undefined ? {} : { title: content.subject }), body: content.body }
  return { aps: { alert, sound: 'default' }, ...createPushData(message) }
}

/** The size of a push with APNs, and what it accepts at most, in bytes. */
export function measureApns(message: OutgoingMessage): PushSize {
  return measurePayload(message, createPayload, maxPayloadBytes)
}

/** A UUID made from the hash of the message id (RFC 9562 §5.8), identical at every attempt. */
function createApnsId(messageId: string): string {
  const hex = hash('sha256', messageId)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
