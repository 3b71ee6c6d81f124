import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { from, timeoutSeconds } from '../kind/shared-options.ts'
import { createHeaders, createMessageId, parseSender, type Sender, sendEach } from '../mail/mail.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createHttpClient, type HttpClient, parseBaseUrl, resultOfError } from '../transport/http.ts'
import { createSendgridReportReader } from './reports.ts'
import { resultOfResponse } from './send-result.ts'

/** Email over SendGrid's Mail Send API (twilio.com/docs/sendgrid/api-reference/mail-send). */
export const sendgrid = defineProvider({
  kind: 'sendgrid',
  channels: ['email'],
  description: 'Email over SendGrid.',
  options: {
    api_key: Type.String({
      minLength: 1,
      description: 'An API key that may send mail.',
      examples: ['${SENDGRID_KEY}'],
    }),
    from,
    webhook_public_key: Type.Optional(
      Type.String({
        description: 'The verification key of the signed event webhook, as SendGrid shows it. Required for reports.',
      }),
    ),
    webhook_tolerance_seconds: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 86_400, description: 'Maximum age of a webhook.', default: 600 }),
    ),
    url: Type.Optional(
      Type.String({
        description: 'Base URL of SendGrid.',
        default: 'https://api.sendgrid.com',
        examples: ['https://api.eu.sendgrid.com'],
      }),
    ),
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const timeoutMs = (options.timeout_seconds ?? 10) * 1_000
    const sender: SendgridSender = {
      client: createHttpClient(parseBaseUrl('url', options.url ?? 'https://api.sendgrid.com'), { timeoutMs }),
      key: options.api_key,
      from: parseSender(options.from ?? context.from),
      now: () => context.clock.now(),
    }
    return {
      timeoutMs: timeoutMs + 1_000,
      send: (messages, signal) => sendEach(messages, (message) => sendMail(sender, message, signal)),
      close: () => sender.client.close(),
    }
  },
  createReportReader: ({ webhook_public_key: publicKey, webhook_tolerance_seconds: toleranceSeconds = 600 }) =>
    publicKey === undefined ? undefined : createSendgridReportReader(publicKey, toleranceSeconds),
})

interface SendgridSender {
  readonly client: HttpClient
  readonly key: string
  readonly from: Sender
  now(): number
}

async function sendMail(
  { client, key, from, now }: SendgridSender,
  message: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = JSON.stringify(createRequestBody(message, from))
  try {
    return resultOfResponse(
      await client.request({ method: 'POST', path: '/v3/mail/send', headers, body }, signal),
      now(),
    )
  } catch (error) {
    return resultOfError(error)
  }
}

/** The mail, with the delivery id among the arguments that SendGrid returns in its events. */
function createRequestBody(message: OutgoingMessage, from: Sender): object {
  const { deliveryId, target, content } = message
  const { name, address: email } = from
  const text = content.body === '' ? [] : [{ type: 'text/plain', value: content.body }]
  const html = content.html ? [{ type: 'text/html', value: content.html }] : []
  return {
    personalizations: [{ to: [{ email: target.address }], custom_args: { delivery_id: deliveryId } }],
    from: { email, ...(name === undefined ? {} : { name }) },
    subject: content.subject ?? '',
    content: [...text, ...html],
    headers: { ...createHeaders(message), 'Message-ID': createMessageId(message, from) },
  }
}
