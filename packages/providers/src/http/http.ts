import { Type } from 'typebox'
import { sendEach } from '../mail/mail.ts'
import { defineProvider } from '../model/kind.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { timeoutSeconds } from '../options/members.ts'
import {
  baseUrl,
  createHttpCaller,
  type HttpAnswer,
  jsonObject,
  retryAfterMs,
  told,
  unanswered,
} from '../transport/http.ts'
import { httpWebhook } from './reports.ts'
import { signWebhook, webhookKey } from './standard-webhooks.ts'

const Secret = Type.String({
  minLength: 1,
  description: 'whsec_ and base64 of 24 to 64 bytes; `openssl rand -base64 32` makes the latter.',
  examples: ['${CARRIER_SECRET}'],
})

/**
 * Carries over an address of your own: each message is a POST of JSON, signed as Standard Webhooks says, under an id
 * that is the same at every try. The body and the answers are described in docs/providers.md.
 */
export const http = defineProvider({
  kind: 'http',
  channels: ['email', 'push', 'sms'],
  description: 'Anything that takes signed HTTP calls (Standard Webhooks).',
  members: {
    url: Type.String({
      pattern: '^https?://',
      description: 'Where messages are posted to.',
      examples: ['https://carrier.example.com/messages'],
    }),
    secret: Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 4 })], {
      description: 'Signs what goes out and proves what comes in. Several while one is replaced: each is as good.',
    }),
    services: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
        minItems: 1,
        description: 'The push services whose devices it carries to. Default: all.',
        examples: [['huawei']],
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  create({ url, secret, services, timeout_seconds: seconds = 10 }, context): Provider {
    const keys = [secret].flat().map(keyOf)
    const address = baseUrl('url', url)
    const callMs = seconds * 1_000
    const caller = createHttpCaller(address, { callMs })
    const sendOne = async (message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> => {
      const body = JSON.stringify(bodyOf(message))
      const calledAt = context.clock.now()
      const headers = { 'content-type': 'application/json', ...signWebhook(keys, message.id, calledAt, body) }
      try {
        const answer = await caller.call({ method: 'POST', path: '', headers, body }, signal)
        return resultOf(answer, message, calledAt)
      } catch (error) {
        return unanswered(error)
      }
    }
    return {
      name: context.name,
      channel: context.channel,
      timeoutMs: callMs + 1_000,
      carries: ({ service }) => service === undefined || services === undefined || services.includes(service),
      send: (messages, signal) => sendEach(messages, (message) => sendOne(message, signal)),
      webhook: httpWebhook(keys),
      close: () => caller.close(),
    }
  },
})

function keyOf(secret: string): Buffer {
  try {
    return webhookKey(secret)
  } catch (error) {
    throw new RangeError(`secret ${(error as Error).message}`)
  }
}

/** A message as it is posted. */
function bodyOf({ target, content, ...message }: OutgoingMessage): Record<string, unknown> {
  const { subject, body, html, locale } = content
  return {
    id: message.id,
    delivery_id: message.deliveryId,
    notification_id: message.notificationId,
    user_id: message.userId,
    event: message.event,
    critical: message.critical,
    channel: message.channel,
    to: target.address,
    ...(message.channel === 'push'
      ? { device_id: target.id, service: target.service, receipt_token: message.receiptToken }
      : {}),
    subject,
    body,
    html,
    locale,
    headers: message.headers,
  }
}

/** Answers that speak of our address or secret, whoever the message is for. */
const ours = new Set([401, 403, 404, 405, 415])
const passing = new Set([408, 425])

function resultOf(answer: HttpAnswer, { channel }: OutgoingMessage, calledAt: number): SendResult {
  const { status } = answer
  if (status >= 200 && status < 300) {
    const id = jsonObject(answer)?.id
    return { kind: 'accepted', ...(typeof id === 'string' && id.length <= 256 ? { providerMessageId: id } : {}) }
  }
  const reason = told(answer)
  const pause = retryAfterMs(answer, calledAt)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, pauses: true, reason }
  if (status >= 500 || passing.has(status)) return { kind: 'transient', ...retryAfter, reason }
  if (status < 400 || ours.has(status)) return { kind: 'misconfigured', reason }
  if (status !== 410) return { kind: 'permanent', code: String(status), reason }
  if (channel === 'push') return { kind: 'dead_token', at: calledAt, reason }
  return { kind: 'permanent', code: '410', reason, undeliverable: 'bounced' }
}
