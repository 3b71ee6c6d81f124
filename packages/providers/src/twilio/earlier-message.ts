import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { type HttpClient, parseJsonObject } from '../transport/http.ts'
import { resultOfRejection } from './send-result.ts'

/** Where and as whom to search. */
export interface TwilioAccount {
  readonly path: string
  readonly authorization: string
  readonly client: HttpClient
  now(): number
}

interface ListedMessage {
  readonly sid?: unknown
  readonly body?: unknown
  readonly date_created?: string
}

const clockSkewMs = 60_000

/**
 * The result of an earlier attempt of a message that Twilio accepted, undefined if it accepted none, or why that cannot
 * be determined now.
 */
export async function findEarlierMessage(
  { path, authorization, client, now }: TwilioAccount,
  { deliveryId, target, content }: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  const since = createdAtOf(deliveryId) - clockSkewMs
  const query = new URLSearchParams({ To: target.address, 'DateSent>': formatDay(since), PageSize: '50' })
  const headers = { authorization, accept: 'application/json' }
  try {
    const response = await client.request({ method: 'GET', path: `${path}?${query}`, headers }, signal)
    if (response.status !== 200) return resultOfRejection(response, now())
    const messages = parseJsonObject(response)?.messages
    if (!Array.isArray(messages)) return { kind: 'transient', reason: 'the list of messages does not have its format' }
    const found = messages.find(
      ({ body, date_created: createdAt }: ListedMessage) =>
        typeof body === 'string' && body.endsWith(content.body) && Date.parse(createdAt ?? '') >= since,
    )
    return found ? { kind: 'accepted', providerMessageId: String(found.sid) } : undefined
  } catch (error) {
    const { message } = error as Error
    return { kind: 'transient', reason: `whether an earlier attempt was accepted is unknown: ${message}` }
  }
}

/** When an id (UUIDv7) was created, in Unix milliseconds (RFC 9562 §5.7). */
function createdAtOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
