import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { Agent } from 'undici'
import { defineProvider } from '../kind/provider-kind.ts'
import { maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createPushData, fitPayload, measurePayload, type PushSize } from '../push/push-data.ts'
import { allowH2, resultOfError, sendRequest } from '../transport/http.ts'
import { lookupPublic } from '../transport/public-address.ts'
import { encryptPush, maxPlaintextBytes } from './encryption.ts'
import { resultOfResponse, resultOfUnproven } from './send-result.ts'
import { checkEndpoint, type EndpointRules, parseSubscription } from './subscription.ts'
import { createVapid, parseVapidKeys, type Vapid } from './vapid.ts'

interface WebPushSender {
  readonly agent: Agent
  readonly vapid: Vapid
  readonly rules: EndpointRules
  readonly ttlSeconds: number
  readonly timeoutMs: number
  now(): number
  /** Set once a push was accepted: browsers subscribe with the VAPID key. */
  proven: boolean
  /** The origins that accepted a push, the last to do so last. */
  readonly origins: Set<string>
}

/** Far more than there are push services. */
const maxOrigins = 1_000

/** Push to browsers (RFC 8030, RFC 8291, RFC 8292). The token of a device is its PushSubscription as JSON. */
export const webPush = defineProvider({
  kind: 'web-push',
  channels: ['push'],
  description: 'Push to browsers, whose service is web and whose token is their subscription as JSON.',
  options: {
    public_key: Type.String({
      description:
        'The VAPID public key of the browsers, in base64url. `npx web-push generate-vapid-keys` makes a pair.',
    }),
    private_key: Type.String({ description: 'The VAPID private key.', examples: ['${VAPID_PRIVATE_KEY}'] }),
    subject: Type.String({
      pattern: '^(mailto:|https://).+',
      description: 'Contact for the operators of push services.',
      examples: ['mailto:ops@example.com'],
    }),
    hosts: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\*\\.)?[a-z0-9.-]+$', description: 'A host name in lower case.' }), {
        description:
          'Hosts of push services in addition to those of the browsers, with any port; `*.` matches all subdomains.',
        examples: [['push.example.com']],
      }),
    ),
    allow_private: Type.Optional(
      Type.Boolean({
        description: 'Also call private addresses, and endpoints without TLS. For tests only.',
        default: false,
      }),
    ),
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const keys = parseVapidKeys(options.public_key, options.private_key)
    const { hosts = [], allow_private: allowPrivate = false, timeout_seconds: seconds = 10 } = options
    const timeoutMs = seconds * 1_000
    const agent = new Agent({
      connections: 8,
      allowH2,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: { timeout: timeoutMs, ...(allowPrivate ? {} : { lookup: lookupPublic }) },
    })
    const sender: WebPushSender = {
      agent,
      vapid: createVapid(keys, options.subject, context.clock),
      rules: { hosts, allowPrivate },
      ttlSeconds: options.ttl_seconds ?? maxTtlSeconds,
      timeoutMs,
      now: () => context.clock.now(),
      proven: false,
      origins: new Set(),
    }
    return {
      timeoutMs: timeoutMs + 1_000,
      batchSize: 10,
      supports: ({ service }) => service === 'web',
      checkToken: (token) => checkSubscription(token, sender.rules),
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(sender, message, signal))),
      close: () => agent.destroy(),
    }
  },
})

function checkSubscription(token: string, rules: EndpointRules): string | undefined {
  try {
    return checkEndpoint(parseSubscription(token).endpoint, rules)
  } catch (error) {
    return (error as Error).message
  }
}

async function sendPush(sender: WebPushSender, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const { agent, timeoutMs, now } = sender
  const fault = checkSubscription(message.target.address, sender.rules)
  if (fault) return { kind: 'permanent', code: 'bad_subscription', reason: `the device's token ${fault}` }
  const plaintext = Buffer.from(JSON.stringify(fitPayload(message, createPayload, maxPlaintextBytes)))
  if (plaintext.length > maxPlaintextBytes)
    return { kind: 'permanent', code: 'too_large', reason: `push services accept at most ${maxPlaintextBytes} bytes` }
  const subscription = parseSubscription(message.target.address)
  const { origin, pathname, search } = subscription.endpoint
  const calledAt = now()
  const resultAtOrigin = (result: SendResult) => (sender.origins.has(origin) ? result : resultOfUnproven(result))
  try {
    const headers = createRequestHeaders(sender, message, origin)
    const body = encryptPush(plaintext, subscription)
    const request = { method: 'POST', path: `${pathname}${search}`, headers, body } as const
    const response = await sendRequest(agent, origin, request, { timeoutMs, signal })
    if (response.status >= 200 && response.status < 300) noteAccepted(sender, origin)
    return resultAtOrigin(resultOfResponse(response, calledAt, sender.proven))
  } catch (error) {
    return resultAtOrigin(resultOfError(error))
  }
}

function noteAccepted(sender: WebPushSender, origin: string): void {
  const { origins } = sender
  sender.proven = true
  origins.delete(origin)
  origins.add(origin)
  const [oldest] = origins
  if (origins.size > maxOrigins && oldest !== undefined) origins.delete(oldest)
}

function createRequestHeaders({ vapid, ttlSeconds: ttl }: WebPushSender, message: OutgoingMessage, origin: string) {
  return {
    authorization: vapid(origin),
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    ttl: String(ttl),
    urgency: message.critical ? 'high' : 'normal',
    topic: createTopic(message.id),
  }
}

/** The data of the push event in the service worker. */
function createPayload(message: OutgoingMessage): object {
  const { id, content } = message
  return {
    ...(content.subject === undefined ? {} : { title: content.subject }),
    body: content.body,
    tag: createTopic(id),
    data: createPushData(message),
  }
}

/** The size of a web push, and what push services accept at most, in bytes. */
export function measureWebPush(message: OutgoingMessage): PushSize {
  return measurePayload(message, createPayload, maxPlaintextBytes)
}

/** A push replaces an undelivered one with the same topic (RFC 8030 §5.4: up to 32 characters of base64url). */
function createTopic(messageId: string): string {
  return hash('sha256', messageId, 'base64url').slice(0, 32)
}
