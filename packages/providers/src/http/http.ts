import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import { sendEach } from '../mail/mail.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import type { HmacKey } from '../signature/hmac-key.ts'
import { createHttpClient, type HttpClient, parseBaseUrl, resultOfError } from '../transport/http.ts'
import { createHttpReportReader } from './reports.ts'
import { resultOfResponse } from './send-result.ts'
import { parseWebhookKey, signWebhook } from './standard-webhooks.ts'

const Secret = Type.String({
  minLength: 1,
  description: 'whsec_ and base64 of 24 to 64 bytes; `openssl rand -base64 32` makes the latter.',
  examples: ['${WEBHOOK_SECRET}'],
})

interface HttpSender {
  readonly client: HttpClient
  readonly keys: readonly HmacKey[]
  now(): number
}

/**
 * Any channel over a URL of your own: each message is a POST of JSON, signed according to Standard Webhooks 1.0
 * (standardwebhooks.com), with the message id as `webhook-id`.
 */
export const http = defineProvider({
  kind: 'http',
  channels: ['email', 'push', 'sms'],
  description: 'Signed HTTP calls (Standard Webhooks) to a URL of your own.',
  options: {
    url: Type.String({
      pattern: '^https?://',
      description: 'The URL to which messages are posted.',
      examples: ['https://provider.example.com/messages'],
    }),
    secret: Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 4 })], {
      description: 'Signs messages and verifies reports. Several during a rotation: each of them is valid.',
    }),
    services: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 50 }), {
        minItems: 1,
        description: 'The push services whose devices it serves. Default: all.',
        examples: [['huawei']],
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  createSender({ url, secret, services, timeout_seconds: seconds = 10 }, context) {
    const keys = parseKeys(secret)
    const timeoutMs = seconds * 1_000
    const client = createHttpClient(parseBaseUrl('url', url), { timeoutMs })
    const sender: HttpSender = { client, keys, now: () => context.clock.now() }
    return {
      timeoutMs: timeoutMs + 1_000,
      supports: ({ service }) => service === undefined || services === undefined || services.includes(service),
      send: (messages, signal) => sendEach(messages, (message) => sendMessage(sender, message, signal)),
      close: () => client.close(),
    }
  },
  createReportReader: ({ secret }) => createHttpReportReader(parseKeys(secret)),
})

function parseKeys(secret: string | readonly string[]): HmacKey[] {
  try {
    return [secret].flat().map(parseWebhookKey)
  } catch (error) {
    throw new RangeError(`secret ${(error as Error).message}`)
  }
}

async function sendMessage(
  { client, keys, now }: HttpSender,
  message: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const body = JSON.stringify(createRequestBody(message))
  const calledAt = now()
  const headers = { 'content-type': 'application/json', ...signWebhook(keys, message.id, calledAt, body) }
  try {
    const response = await client.request({ method: 'POST', path: '', headers, body }, signal)
    return resultOfResponse(response, message.channel, calledAt)
  } catch (error) {
    return resultOfError(error)
  }
}

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
