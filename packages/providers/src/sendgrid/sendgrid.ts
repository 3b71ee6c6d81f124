import { Type } from 'typebox'
import { mailHeaders, messageIdOf, readSender, type Sender, sendEach } from '../mail/mail.ts'
import { defineProvider } from '../model/kind.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import { timeoutSeconds } from '../options/members.ts'
import {
  baseUrl,
  createHttpCaller,
  type HttpAnswer,
  type HttpCaller,
  retryAfterMs,
  told,
  unanswered,
} from '../transport/http.ts'
import { sendgridWebhook } from './reports.ts'

/** Carries mail over SendGrid's Mail Send (twilio.com/docs/sendgrid/api-reference/mail-send). */
export const sendgrid = defineProvider({
  kind: 'sendgrid',
  channels: ['email'],
  description: 'Mail over SendGrid.',
  members: {
    api_key: Type.String({
      minLength: 1,
      description: 'An API key that may send mail.',
      examples: ['${SENDGRID_KEY}'],
    }),
    from: Type.Optional(
      Type.String({ description: 'The sender. Default: MAIL_FROM.', examples: ['Example <hello@example.com>'] }),
    ),
    webhook_public_key: Type.Optional(
      Type.String({
        description: 'The verification key of the signed event webhook, as SendGrid shows it. Needed to take reports.',
      }),
    ),
    webhook_tolerance_seconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 86_400, description: 'How old a webhook may be.', default: 600 }),
    ),
    url: Type.Optional(
      Type.String({
        description: "SendGrid's address.",
        default: 'https://api.sendgrid.com',
        examples: ['https://api.eu.sendgrid.com'],
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const { api_key: key, webhook_public_key: publicKey, webhook_tolerance_seconds: tolerance = 600 } = declared
    const callMs = (declared.timeout_seconds ?? 10) * 1_000
    const sender = readSender(declared.from ?? context.from)
    const caller = createHttpCaller(baseUrl('url', declared.url ?? 'https://api.sendgrid.com'), { callMs })
    const now = () => context.clock.now()
    return {
      name: context.name,
      channel: 'email',
      timeoutMs: callMs + 1_000,
      send: (messages, signal) =>
        sendEach(messages, (message) => sendMail({ caller, key, now }, mailOf(message, sender), signal)),
      ...(publicKey === undefined ? {} : { webhook: sendgridWebhook(publicKey, tolerance) }),
      close: () => caller.close(),
    }
  },
})

interface SendGrid {
  readonly caller: HttpCaller
  readonly key: string
  now(): number
}

async function sendMail({ caller, key, now }: SendGrid, mail: object, signal: AbortSignal): Promise<SendResult> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  try {
    const request = { method: 'POST', path: '/v3/mail/send', headers, body: JSON.stringify(mail) } as const
    return resultOf(await caller.call(request, signal), now())
  } catch (error) {
    return unanswered(error)
  }
}

/** The mail, with the delivery's id among what SendGrid gives back in its reports. */
function mailOf(message: OutgoingMessage, sender: Sender): object {
  const { deliveryId, target, content } = message
  const { name, address: email } = sender
  const text = content.body === '' ? [] : [{ type: 'text/plain', value: content.body }]
  const html = content.html ? [{ type: 'text/html', value: content.html }] : []
  return {
    personalizations: [{ to: [{ email: target.address }], custom_args: { delivery_id: deliveryId } }],
    from: { email, ...(name === undefined ? {} : { name }) },
    subject: content.subject ?? '',
    content: [...text, ...html],
    headers: { ...mailHeaders(message), 'Message-ID': messageIdOf(message, sender) },
  }
}

/** What an answer of SendGrid's means. A 4xx that is none of the mail's fault is one of our account. */
function resultOf(answer: HttpAnswer, now: number): SendResult {
  const { status, headers } = answer
  const reason = told(answer)
  const id = [headers['x-message-id']].flat()[0]
  if (status === 202) return { kind: 'accepted', ...(id ? { providerMessageId: id } : {}) }
  if (status === 429) {
    const pause = retryAfterMs(answer, now) ?? resetMs(answer, now)
    return { kind: 'rate_limited', ...(pause === undefined ? {} : { retryAfterMs: pause }), pauses: true, reason }
  }
  if (status >= 500) {
    const pause = retryAfterMs(answer, now)
    return { kind: 'transient', ...(pause === undefined ? {} : { retryAfterMs: pause }), reason }
  }
  if (status === 400 || status === 413) return { kind: 'permanent', code: String(status), reason }
  return status >= 300 ? { kind: 'misconfigured', reason } : { kind: 'ambiguous', reason }
}

/** X-RateLimit-Reset: when the limit starts anew, in Unix seconds. */
function resetMs({ headers }: HttpAnswer, now: number): number | undefined {
  const field = [headers['x-ratelimit-reset']].flat()[0]
  if (!field || !/^\d{9,11}$/.test(field)) return undefined
  return Math.min(3_600_000, Math.max(0, Number(field) * 1_000 - now))
}
