import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import { sendEach } from '../mail/mail.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import {
  createHttpClient,
  describeResponse,
  type HttpResponse,
  parseBaseUrl,
  parseJsonObject,
  parseRetryAfter,
  resultOfError,
} from '../transport/http.ts'
import { createHttpReportReader } from './reports.ts'
import { parseWebhookKey, signWebhook } from './standard-webhooks.ts'

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
    const keys = [secret].flat().map(parseKey)
    const address = parseBaseUrl('url', url)
    const callMs = seconds * 1_000
    const caller = createHttpClient(address, { timeoutMs: callMs })
    const sendOne = async (message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> => {
      const body = JSON.stringify(createRequestBody(message))
      const calledAt = context.clock.now()
      const headers = { 'content-type': 'application/json', ...signWebhook(keys, message.id, calledAt, body) }
      try {
        const answer = await caller.request({ method: 'POST', path: '', headers, body }, signal)
        return resultOfResponse(answer, message, calledAt)
      } catch (error) {
        return resultOfError(error)
      }
    }
    return {
      name: context.name,
      channel: context.channel,
      timeoutMs: callMs + 1_000,
      supports: ({ service }) => service === undefined || services === undefined || services.includes(service),
      send: (messages, signal) => sendEach(messages, (message) => sendOne(message, signal)),
      reports: createHttpReportReader(keys),
      close: () => caller.close(),
    }
  },
})

function parseKey(secret: string): Buffer {
  try {
    return parseWebhookKey(secret)
  } catch (error) {
    throw new RangeError(`secret ${(error as Error).message}`)
  }
}

/** A message as it is posted. */
function createRequestBody({ target, content, ...message }: OutgoingMessage): Record<string, unknown> {
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
const configurationStatuses = new Set([401, 403, 404, 405, 415])
const transientStatuses = new Set([408, 425])

function resultOfResponse(answer: HttpResponse, { channel }: OutgoingMessage, calledAt: number): SendResult {
  const { status } = answer
  if (status >= 200 && status < 300) {
    const id = parseJsonObject(answer)?.id
    return { kind: 'accepted', ...(typeof id === 'string' && id.length <= 256 ? { providerMessageId: id } : {}) }
  }
  const reason = describeResponse(answer)
  const pause = parseRetryAfter(answer, calledAt)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429) return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500 || transientStatuses.has(status)) return { kind: 'transient', ...retryAfter, reason }
  if (status < 400 || configurationStatuses.has(status)) return { kind: 'misconfigured', reason }
  if (status !== 410) return { kind: 'permanent', code: String(status), reason }
  if (channel === 'push') return { kind: 'dead_token', at: calledAt, reason }
  return { kind: 'permanent', code: '410', reason, undeliverable: 'bounced' }
}
