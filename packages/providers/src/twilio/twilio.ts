import { Type } from 'typebox'
import { defineProvider, type ProviderContext } from '../kind/provider-kind.ts'
import { timeoutSeconds } from '../kind/shared-options.ts'
import type { OutgoingMessage, Provider, SendResult } from '../model/provider.ts'
import {
  createHttpClient,
  describeResponse,
  type HttpClient,
  type HttpResponse,
  parseBaseUrl,
  parseJsonObject,
  parseRetryAfter,
  resultOfError,
} from '../transport/http.ts'
import { createTwilioReportReader } from './reports.ts'

interface Twilio {
  readonly accountSid: string
  readonly authToken: string
  /** `From` or `MessagingServiceSid`. */
  readonly sender: Readonly<Record<string, string>>
  readonly caller: HttpClient
  readonly context: ProviderContext
}

/** Carries SMS over Twilio (twilio.com/docs/messaging/api/message-resource). */
export const twilio = defineProvider({
  kind: 'twilio',
  channels: ['sms'],
  description: 'SMS over Twilio.',
  members: {
    account_sid: Type.String({
      pattern: '^AC[0-9a-fA-F]{32}$',
      description: 'The account, AC and 32 hexadecimal digits.',
    }),
    auth_token: Type.String({
      minLength: 16,
      description: "The account's auth token. It signs the calls, and proves their reports.",
      examples: ['${TWILIO_AUTH_TOKEN}'],
    }),
    from: Type.Optional(
      Type.String({ minLength: 1, description: 'The sending number or name. Or messaging_service_sid.' }),
    ),
    messaging_service_sid: Type.Optional(
      Type.String({ pattern: '^MG[0-9a-fA-F]{32}$', description: 'The messaging service that chooses the sender.' }),
    ),
    url: Type.Optional(Type.String({ description: "Twilio's address.", default: 'https://api.twilio.com' })),
    timeout_seconds: timeoutSeconds,
  },
  create(declared, context): Provider {
    const { from, messaging_service_sid: service, timeout_seconds: seconds = 10 } = declared
    if ((from === undefined) === (service === undefined))
      throw new RangeError('needs either from or messaging_service_sid')
    const callMs = seconds * 1_000
    const settings: Twilio = {
      accountSid: declared.account_sid,
      authToken: declared.auth_token,
      sender: from === undefined ? { MessagingServiceSid: service ?? '' } : { From: from },
      caller: createHttpClient(parseBaseUrl('url', declared.url ?? 'https://api.twilio.com'), { timeoutMs: callMs }),
      context,
    }
    return {
      name: context.name,
      channel: 'sms',
      timeoutMs: 2 * callMs,
      send: (messages, signal) => Promise.all(messages.map((message) => sendSms(settings, message, signal))),
      reports: createTwilioReportReader(settings.authToken),
      close: () => settings.caller.close(),
    }
  },
})

/**
 * Twilio takes no idempotency key. So before a message is sent again, the messages to that number are looked through
 * for it: an earlier try whose answer was lost may have been taken.
 */
async function sendSms(twilio: Twilio, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  if (message.retried) {
    const earlier = await findEarlierMessage(twilio, message, signal)
    if (earlier) return earlier
  }
  const result = await sendNow(twilio, message, signal)
  return message.retried ? withoutEarlier(result) : result
}

async function sendNow(twilio: Twilio, message: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
  try {
    return resultOfResponse(await post(twilio, message, signal), twilio.context.clock.now())
  } catch (error) {
    return resultOfError(error)
  }
}

/** What an answer means once Twilio has said that it has no earlier try. */
function withoutEarlier(result: SendResult): SendResult {
  const { kind } = result
  const isRefusal = kind === 'transient' || kind === 'rate_limited' || kind === 'misconfigured'
  return isRefusal ? { ...result, noneAccepted: true } : result
}

function post(
  { accountSid, authToken, sender, caller, context }: Twilio,
  message: OutgoingMessage,
  signal: AbortSignal,
) {
  const callback = `${context.publicUrl}/v1/webhooks/${context.name}?delivery=${message.deliveryId}`
  const form = { To: message.target.address, ...sender, Body: message.content.body, StatusCallback: callback }
  return caller.request(
    {
      method: 'POST',
      path: `/2010-04-01/Accounts/${accountSid}/Messages.json`,
      headers: {
        authorization: basicAuthorization(accountSid, authToken),
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
      body: new URLSearchParams(form).toString(),
    },
    signal,
  )
}

function basicAuthorization(accountSid: string, authToken: string): string {
  return `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`
}

const clockSkewMs = 60_000

/** The earlier try of a message, when Twilio has it; why it can't be sent now, when Twilio doesn't tell. */
async function findEarlierMessage(
  { accountSid, authToken, caller, context }: Twilio,
  { deliveryId, target, content }: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  const since = createdAtOf(deliveryId) - clockSkewMs
  const query = new URLSearchParams({ To: target.address, 'DateSent>': formatDay(since), PageSize: '50' })
  try {
    const answer = await caller.request(
      {
        method: 'GET',
        path: `/2010-04-01/Accounts/${accountSid}/Messages.json?${query}`,
        headers: { authorization: basicAuthorization(accountSid, authToken), accept: 'application/json' },
      },
      signal,
    )
    if (answer.status !== 200) return resultOfRejection(answer, context.clock.now())
    const messages = parseJsonObject(answer)?.messages
    if (!Array.isArray(messages)) return { kind: 'transient', reason: 'the list of messages is not one of Twilio’s' }
    const found = messages.find(
      ({ body, date_created: createdAt }: ListedMessage) =>
        typeof body === 'string' && body.endsWith(content.body) && Date.parse(createdAt ?? '') >= since,
    )
    return found ? { kind: 'accepted', providerMessageId: String(found.sid) } : undefined
  } catch (error) {
    return { kind: 'transient', reason: `whether an earlier try was taken is not known: ${(error as Error).message}` }
  }
}

interface ListedMessage {
  readonly sid?: unknown
  readonly body?: unknown
  readonly date_created?: string
}

/** When an id (UUIDv7) was made, in Unix milliseconds. */
function createdAtOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

const formatDay = (at: number) => new Date(at).toISOString().slice(0, 10)

function resultOfResponse(answer: HttpResponse, now: number): SendResult {
  if (answer.status !== 201) return resultOfRejection(answer, now)
  const sid = parseJsonObject(answer)?.sid
  if (typeof sid === 'string' && sid.length <= 64) return { kind: 'accepted', providerMessageId: sid }
  return { kind: 'ambiguous', reason: `${describeResponse(answer)}, which is not Twilio's` }
}

/** Codes that speak of our account or sender, whoever the message is for. */
const accountCodes = new Set([20003, 20005, 20404, 21212, 21603, 21606, 21659, 21660, 21703, 21704, 30034])
/** Codes that speak of this one number or text, whatever the status. */
const messageCodes = new Set([21408, 21602, 21610, 21612, 21617])
/** Codes that say that the number is none that a message could ever reach. */
const invalidNumberCodes = new Set([21211, 21214, 21217, 21421, 21614])

/** What a refusal means (twilio.com/docs/api/errors): its code, where it says more than the status. */
function resultOfRejection(answer: HttpResponse, now: number): SendResult {
  const { status } = answer
  const code = parseCode(answer)
  const reason = describeResponse(answer)
  const pause = parseRetryAfter(answer, now)
  const retryAfter = pause === undefined ? {} : { retryAfterMs: pause }
  if (status === 429 || code === 20429) return { kind: 'rate_limited', ...retryAfter, accountWide: true, reason }
  if (status >= 500) return { kind: 'transient', ...retryAfter, reason }
  const rejected = { kind: 'permanent', code: String(code ?? status), reason } as const
  if (code === 21610) return { ...rejected, undeliverable: 'unsubscribed' }
  if (code !== undefined && invalidNumberCodes.has(code)) return { ...rejected, undeliverable: 'bounced' }
  if (code !== undefined && messageCodes.has(code)) return rejected
  const isOurs = status < 400 || [401, 403, 404].includes(status) || (code !== undefined && accountCodes.has(code))
  return isOurs ? { kind: 'misconfigured', reason } : rejected
}

function parseCode(answer: HttpResponse): number | undefined {
  const code = parseJsonObject(answer)?.code
  return typeof code === 'number' ? code : undefined
}
