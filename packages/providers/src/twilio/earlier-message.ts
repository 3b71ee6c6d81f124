import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { type HttpClient, parseJsonObject } from '../transport/http.ts'
import { resultOfRejection } from './send-result.ts'

/** Where and as whom to search. */
export interface TwilioAccount {
  readonly path: string
  readonly authorization: string
  readonly client: HttpClient
  /** Maximum duration of a search, in milliseconds. */
  readonly timeoutMs: number
  now(): number
}

interface ListedMessage {
  readonly sid?: unknown
  readonly body?: unknown
  readonly date_created?: string
  /** Null until it is sent. */
  readonly date_sent?: string | null
}

const clockSkewMs = 60_000
/** So few that a page of the longest texts, all of them emoji, is not truncated by the HTTP client. */
const pageSize = 3
const maxPages = 34

/**
 * The result of an earlier attempt of a message that Twilio accepted, undefined if it accepted none, or why that cannot
 * be determined now: then transient, also if too many newer messages were sent to the number.
 */
export async function findEarlierMessage(
  account: TwilioAccount,
  { deliveryId, target, content }: OutgoingMessage,
  signal: AbortSignal,
): Promise<SendResult | undefined> {
  const since = createdAtOf(deliveryId) - clockSkewMs
  const query = new URLSearchParams({ To: target.address, 'DateSent>': formatDay(since), PageSize: String(pageSize) })
  const limit = AbortSignal.any([signal, AbortSignal.timeout(account.timeoutMs)])
  let search: string | undefined = `?${query}`
  try {
    for (let page = 0; page < maxPages; page++) {
      const list = await readPage(account, search, limit)
      if ('kind' in list) return list
      const found = list.messages.find(({ body, createdAt }) => body.endsWith(content.body) && createdAt >= since)
      if (found) return { kind: 'accepted', providerMessageId: found.sid }
      // in whichever order Twilio lists them: a message that waited or was scheduled was created long before it was sent
      const isPast = list.messages.length > 0 && list.messages.every(({ sentAt }) => sentAt < since)
      search = isPast ? undefined : list.next
      if (search === undefined) return undefined
    }
    return unknown('too many newer messages were sent to the number')
  } catch (error) {
    return unknown((error as Error).message)
  }
}

function unknown(reason: string): SendResult {
  return { kind: 'transient', reason: `whether an earlier attempt was accepted is unknown: ${reason}` }
}

interface Message {
  readonly sid: string
  readonly body: string
  readonly createdAt: number
  /** NaN until it is sent. */
  readonly sentAt: number
}

/** A page of the list of messages, which has the newest first. */
interface Page {
  readonly messages: readonly Message[]
  /** The query of the next page. */
  readonly next?: string
}

async function readPage(
  { path, authorization, client, now }: TwilioAccount,
  search: string,
  signal: AbortSignal,
): Promise<Page | SendResult> {
  const headers = { authorization, accept: 'application/json' }
  const response = await client.request({ method: 'GET', path: `${path}${search}`, headers }, signal)
  if (response.status !== 200) return resultOfRejection(response, now())
  const { messages, next_page_uri: next } = parseJsonObject(response) ?? {}
  if (!Array.isArray(messages)) return unknown('the list of messages does not have its format')
  return { messages: messages.map(parseMessage), ...(typeof next === 'string' ? { next: queryOf(next) } : {}) }
}

function parseMessage({ sid, body, date_created: created, date_sent: sent }: ListedMessage): Message {
  return {
    sid: String(sid),
    body: String(body ?? ''),
    createdAt: Date.parse(created ?? ''),
    sentAt: Date.parse(sent ?? ''),
  }
}

/** The query of an address. Nothing else is used of it, so that credentials are sent to no other host or path. */
function queryOf(uri: string): string {
  const at = uri.indexOf('?')
  return at < 0 ? '' : uri.slice(at)
}

/** When an id (UUIDv7) was created, in Unix milliseconds (RFC 9562 §5.7). */
function createdAtOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
