import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import { createHeaders, createMessageId, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import {
  createHttpClient,
  describeResponse,
  type HttpClient,
  type HttpResponse,
  parseBaseUrl,
  parseRetryAfter,
  resultOfError,
} from '../transport/http.ts'
import { createSendgridReportReader } from './reports.ts'

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
    const sender = parseSender(declared.from ?? context.from)
    const caller = createHttpClient(parseBaseUrl('url', declared.url ?? 'https://api.sendgrid.com'), {
      timeoutMs: callMs,
    })
    const now = () => context.clock.now()
    return {
      name: context.name,
      channel: 'email',
      timeoutMs: callMs + 1_000,
      send: (messages, signal) =>
        sendEach(messages, (message) => sendMail({ caller, key, now }, createRequestBody(message, sender), signal)),
      ...(publicKey === undefined ? {} : { reports: createSendgridReportReader(publicKey, tolerance) }),
      close: () => caller.close(),
    }
  },
})

interface SendGrid {
  readonly caller: HttpClient
  readonly key: string
  now(): number
}

async function sendMail({ caller, key, now }: SendGrid, mail: object, signal: AbortSignal): Promise<SendResult> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  try {
    const request = { method: 'POST', path: '/v3/mail/send', headers, body: JSON.stringify(mail) } as const
    return resultOfResponse(await caller.request(request, signal), now())
  } catch (error) {
    return resultOfError(error)
  }
}

/** The mail, with the delivery's id among what SendGrid gives back in its reports. */
function createRequestBody(message: OutgoingMessage, sender: Sender): object {
  const { deliveryId, target, content } = message
  const { name, address: email } = sender
  const text = content.body === '' ? [] : [{ type: 'text/plain', value: content.body }]
  const html = content.html ? [{ type: 'text/html', value: content.html }] : []
  return {
    personalizations: [{ to: [{ email: target.address }], custom_args: { delivery_id: deliveryId } }],
    from: { email, ...(name === undefined ? {} : { name }) },
    subject: content.subject ?? '',
    content: [...text, ...html],
    headers: { ...createHeaders(message), 'Message-ID': createMessageId(message, sender) },
  }
}

/** What an answer of SendGrid's means. A 4xx that is none of the mail's fault is one of our account. */
function resultOfResponse(answer: HttpResponse, now: number): SendResult {
  const { status, headers } = answer
  const reason = describeResponse(answer)
  const id = [headers['x-message-id']].flat()[0]
  if (status === 202) return { kind: 'accepted', ...(id ? { providerMessageId: id } : {}) }
  if (status === 429) {
    const pause = parseRetryAfter(answer, now) ?? parseResetMs(answer, now)
    return { kind: 'rate_limited', ...(pause === undefined ? {} : { retryAfterMs: pause }), accountWide: true, reason }
  }
  if (status >= 500) {
    const pause = parseRetryAfter(answer, now)
    return { kind: 'transient', ...(pause === undefined ? {} : { retryAfterMs: pause }), reason }
  }
  if (status === 400 || status === 413) return { kind: 'permanent', code: String(status), reason }
  return status >= 300 ? { kind: 'misconfigured', reason } : { kind: 'ambiguous', reason }
}

/** X-RateLimit-Reset: when the limit starts anew, in Unix seconds. */
function parseResetMs({ headers }: HttpResponse, now: number): number | undefined {
  const field = [headers['x-ratelimit-reset']].flat()[0]
  if (!field || !/^\d{9,11}$/.test(field)) return undefined
  return Math.min(3_600_000, Math.max(0, Number(field) * 1_000 - now))
}
