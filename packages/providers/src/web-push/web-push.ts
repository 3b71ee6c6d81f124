import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { Agent } from 'undici'
import { defineProvider } from '../kind/provider-kind.ts'
import { maxTtlSeconds, timeoutSeconds, ttlSeconds } from '../kind/shared-options.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { createPushData, fitPayload } from '../push/push-data.ts'
import { describeResponse, type HttpResponse, parseRetryAfter, resultOfError, sendRequest } from '../transport/http.ts'
import { lookupPublic } from '../transport/public-address.ts'
import { encryptPush, maxPlaintextBytes } from './encryption.ts'
import {
  browserHosts,
  checkEndpoint,
  type EndpointRules,
  parseSubscription,
  type Subscription,
} from './subscription.ts'
import { createVapid, parseVapidKeys, type Vapid } from './vapid.ts'

interface WebPush {
  readonly agent: Agent
  readonly vapid: Vapid
  readonly rules: EndpointRules
  readonly ttlSeconds: number
  readonly callMs: number
  now(): number
  /** The push services that have taken a push: they know our key. */
  readonly proven: Set<string>
}

/** Carries push to browsers (RFC 8030, 8291, 8292). A device's token is its PushSubscription as JSON. */
export const webPush = defineProvider({
  kind: 'web-push',
  channels: ['push'],
  description: 'Push to browsers, whose service is web and whose token is their subscription as JSON.',
  members: {
    public_key: Type.String({
      description:
        'The VAPID key that browsers are given, in base64url; `npx web-push generate-vapid-keys` makes both.',
    }),
    private_key: Type.String({ description: 'The key that belongs to it.', examples: ['${VAPID_PRIVATE_KEY}'] }),
    subject: Type.String({
      pattern: '^(mailto:|https://).+',
      description: 'Where push services reach you.',
      examples: ['mailto:ops@example.com'],
    }),
    hosts: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\*\\.)?[a-z0-9.-]+$', description: 'A name of a host, in lower case.' }), {
        description: "Push services beside the browsers' own; `*.` stands for any names below.",
        examples: [['push.example.com']],
      }),
    ),
    allow_private: Type.Optional(
      Type.Boolean({
        description: 'Also endpoints that are not on the public internet or without TLS: for rehearsals alone.',
        default: false,
      }),
    ),
    ttl_seconds: ttlSeconds,
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const keys = parseVapidKeys(declared.public_key, declared.private_key)
    const { hosts = [], allow_private: allowPrivate = false, timeout_seconds: seconds = 10 } = declared
    const callMs = seconds * 1_000
    const agent = new Agent({
      connections: 8,
      headersTimeout: callMs,
      bodyTimeout: callMs,
      connect: { timeout: callMs, ...(allowPrivate ? {} : { lookup: lookupPublic }) },
    })
    const settings: WebPush = {
      agent,
      vapid: createVapid(keys, declared.subject, context.clock),
      rules: { hosts: [...browserHosts, ...hosts], allowPrivate },
      ttlSeconds: declared.ttl_seconds ?? maxTtlSeconds,
      callMs,
      now: () => context.clock.now(),
      proven: new Set(),
    }
    return {
      name: context.name,
      channel: 'push',
      timeoutMs: callMs + 1_000,
      batchSize: 10,
      supports: ({ service }) => service === 'web',
      checkToken: (token) => checkSubscription(token, settings.rules),
      send: (messages, signal) => Promise.all(messages.map((message) => sendPush(settings, message, signal))),
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

async function sendPush(push: WebPush, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  const fault = checkSubscription(message.target.address, push.rules)
  if (fault) return { kind: 'permanent', code: 'bad_subscription', reason: `the device's token ${fault}` }
  const plain = Buffer.from(JSON.stringify(fitPayload(message, createPayload, maxPlaintextBytes)))
  if (plain.length > maxPlaintextBytes)
    return { kind: 'permanent', code: 'too_large', reason: `push services take ${maxPlaintextBytes} bytes at most` }
  const subscription = parseSubscription(message.target.address)
  const calledAt = push.now()
  try {
    const answer = await call(push, subscription, message, plain, signal)
    return resultOfResponse(answer, calledAt, push.proven, subscription.endpoint.origin)
  } catch (error) {
    return resultOfError(error)
  }
}

function call(
  { agent, vapid, ttlSeconds: ttl, callMs }: WebPush,
  subscription: Subscription,
  { id, critical }: OutgoingMessage,
  plain: Buffer,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const { origin, pathname, search } = subscription.endpoint
  const headers = {
    authorization: vapid(origin),
    'content-type': 'application/octet-stream',
    'content-encoding': 'aes128gcm',
    ttl: String(ttl),
    urgency: critical ? 'high' : 'normal',
    topic: createTopic(id),
  }
  const body = encryptPush(plain, subscription)
  return sendRequest(agent, origin, { method: 'POST', path: `${pathname}${search}`, headers, body }, callMs, signal)
}

/** What the browser's service worker gets. */
function createPayload(message: OutgoingMessage): object {
  const { id, content } = message
  return {
    ...(content.subject === undefined ? {} : { title: content.subject }),
    body: content.body,
    tag: createTopic(id),
    data: createPushData(message),
  }
}

/** A push whose topic waits already takes that one's place (RFC 8030 §5.4: 32 characters of base64url). */
function createTopic(messageId: string): string {
  return hash('sha256', messageId, 'base64url').slice(0, 32)
}

const keyStatuses = new Set([400, 401, 403])

/**
 * What a push service's answer means. It refuses a key that it doesn't know; when it has taken pushes under ours
 * before, then it is this subscription that was made for another key.
 */
function resultOfResponse(answer: HttpResponse, calledAt: number, proven: Set<string>, origin: string): SendResult {
  const { status, headers } = answer
  if (status >= 200 && status < 300) {
    proven.add(origin)
    const id = headers.location
    return { kind: 'accepted', ...(typeof id === 'string' && id.length <= 512 ? { providerMessageId: id } : {}) }
  }
  const reason = describeResponse(answer)
  const pause = parseRetryAfter(answer, calledAt)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 404 || status === 410) return { kind: 'dead_token', at: calledAt, reason }
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, reason }
  if (status >= 500 || status === 408) return { kind: 'transient', ...retryAfter, reason }
  if (keyStatuses.has(status) && !proven.has(origin)) return { kind: 'misconfigured', reason }
  return { kind: 'permanent', code: String(status), reason }
}
