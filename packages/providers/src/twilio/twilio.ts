import { Type } from 'typebox'
import { defineProvider } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { createHttpClient, type HttpClient, parseBaseUrl, resultOfError } from '../transport/http.ts'
import { findEarlierMessage } from './earlier-message.ts'
import { createTwilioReportReader } from './reports.ts'
import { resultOfResponse } from './send-result.ts'

interface TwilioSender {
  /** The path of the Messages resource of the account. */
  readonly path: string
  /** The Authorization field. */
  readonly authorization: string
  /** `From` or `MessagingServiceSid`. */
  readonly from: Readonly<Record<string, string>>
  readonly client: HttpClient
  readonly timeoutMs: number
  readonly reportUrl?: string
  now(): number
}

/** SMS over Twilio (twilio.com/docs/messaging/api/message-resource). */
export const twilio = defineProvider({
  kind: 'twilio',
  channels: ['sms'],
  description: 'SMS over Twilio.',
  options: {
    account_sid: Type.String({
      pattern: '^AC[0-9a-fA-F]{32}$',
      description: 'The account SID: AC and 32 hexadecimal digits.',
    }),
    auth_token: Type.String({
      minLength: 16,
      description: 'The auth token of the account. It authenticates calls and verifies reports.',
      examples: ['${TWILIO_AUTH_TOKEN}'],
    }),
    from: Type.Optional(
      Type.String({ minLength: 1, description: 'The sending number or name. Or messaging_service_sid.' }),
    ),
    messaging_service_sid: Type.Optional(
      Type.String({ pattern: '^MG[0-9a-fA-F]{32}$', description: 'The messaging service that chooses the sender.' }),
    ),
    url: Type.Optional(Type.String({ description: 'Base URL of Twilio.', default: 'https://api.twilio.com' })),
    timeout_seconds: timeoutSeconds,
  },
  createSender(options, context) {
    const { account_sid: accountSid, auth_token: authToken, from, messaging_service_sid: service } = options
    if ((from === undefined) === (service === undefined))
      throw new RangeError('needs either from or messaging_service_sid')
    const timeoutMs = (options.timeout_seconds ?? 10) * 1_000
    const sender: TwilioSender = {
      path: `/2010-04-01/Accounts/${accountSid}/Messages.json`,
      authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
      from: from === undefined ? { MessagingServiceSid: service ?? '' } : { From: from },
      client: createHttpClient(parseBaseUrl('url', options.url ?? 'https://api.twilio.com'), { timeoutMs }),
      timeoutMs,
      ...(context.reportUrl === undefined ? {} : { reportUrl: context.reportUrl }),
      now: () => context.clock.now(),
    }
    return {
      timeoutMs: 2 * timeoutMs,
      send: (messages, signal) => Promise.all(messages.map((message) => sendSms(sender, message, signal))),
      close: () => sender.client.close(),
    }
  },
  createReportReader: ({ auth_token: authToken }) => createTwilioReportReader(authToken),
})

/**
 * Sends an SMS. Twilio has no idempotency key, so before a retry the messages to that number are searched for it: an
 * earlier attempt whose response was lost may have been accepted.
 */
async function sendSms(sender: TwilioSender, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  if (!message.retried) return sendOnce(sender, message, signal)
  const earlier = await findEarlierMessage(sender, message, signal)
  return earlier ?? markNoneAccepted(await sendOnce(sender, message, signal))
}

/** A failure after Twilio has confirmed that it accepted no earlier attempt. */
function markNoneAccepted(result: SendResult): SendResult {
  const { kind } = result
  const isNotAccepted = kind === 'transient' || kind === 'rate_limited' || kind === 'misconfigured'
  return isNotAccepted ? { ...result, noneAccepted: true } : result
}

async function sendOnce(
  { path, authorization, from, client, reportUrl, now }: TwilioSender,
  { deliveryId, target, content }: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const callback = reportUrl === undefined ? {} : { StatusCallback: `${reportUrl}?delivery=${deliveryId}` }
  const form = new URLSearchParams({ To: target.address, ...from, Body: content.body, ...callback })
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  try {
    return resultOfResponse(
      await client.request({ method: 'POST', path, headers, body: form.toString() }, signal),
      now(),
    )
  } catch (error) {
    return resultOfError(error)
  }
}
