import { maskEmail, maskMembers, maskPhoneNumber } from '@gatehouse/kit'
import type { Channel } from './channel.ts'
import type { NotifyRequest } from './notification/notification.ts'
import { isOwnSentence } from './notification/reason.ts'
import type { TimelineEntry } from './notification/timeline.ts'

/*
 * What callers see who may not read personal data. Of texts that come from outside (what a provider answered, what a
 * template could not make of its data) nothing is shown but what is known to be harmless: anything new is hidden until
 * it is listed here.
 */

/** Stands for a value that is not shown. */
export const hidden = '•••'

/** An address of a channel; `*` is none. */
export function maskAddress(channel: Channel | string, address: string): string {
  if (address === '*') return address
  if (channel === 'email') return maskEmail(address)
  return channel === 'sms' ? maskPhoneNumber(address) : hidden
}

interface Reachable {
  readonly email?: string
  readonly phone_number?: string
}

/** A recipient, or what was changed of one, as the API writes it. */
export function maskRecipient<Record extends Reachable>(recipient: Record): Record {
  const { email, phone_number: phoneNumber } = recipient
  return {
    ...recipient,
    ...(email === undefined ? {} : { email: maskEmail(email) }),
    ...(phoneNumber === undefined ? {} : { phone_number: maskPhoneNumber(phoneNumber) }),
  }
}

/** A notify request: its data as keys with types. */
export function maskRequest(request: NotifyRequest): NotifyRequest {
  const { dedup_key: key } = request
  return { ...maskData(request), ...(key === undefined ? {} : { dedup_key: hidden }) }
}

/** The same for callers who may read personal data, where the data is to be read by nobody. */
export function maskData(request: NotifyRequest): NotifyRequest {
  return { ...request, data: maskMembers(request.data) }
}

/** Reasons that are ours to the last word. */
const ownReasons = [
  /^(?:preference|the channel is off|the event type was removed|the data was erased|by the user)$/,
  /^the user has no (?:device|email address|telephone number|feed)$/,
  /^its address is left out(?: by now)?: (?:bounced|complained|unsubscribed|manual)$/,
  /^(?:one-click|on the page), from a mail$/,
  /^\d+ workers died while they held it$/,
  /^no device of the user is registered any more$/,
  /^its device is no longer the user's$/,
  /^removed: it quotes a sensitive message$/,
  /^(?:no time was left|it is not UTF-8|no provider supports the target|it is larger than the \d+ bytes allowed here)$/,
  /^the template \S{1,200} has no text for (?:push|email|sms|in-app)$/,
  /^(?:Unregistered|UNREGISTERED|BadDeviceToken|ExpiredToken|DeviceTokenNotForTopic|NotRegistered)$/,
]

/** How reasons of ours begin that go on with somebody else's words. */
const ownBeginnings = [
  /^the (?:subject|body|html) does not (?:render|parse): /,
  /^(?:it is not JSON|it is no notify request): /,
  /^\d+ attempts failed, the last: /,
  /^no provider accepted it in time, the last: /,
]

/** What a mail server or a provider answers with: `550 5.1.1`, `answered 404`. */
const replyCode = /\b[2-5]\d\d[ -][245]\.\d{1,3}\.\d{1,3}\b|^[2-5]\d\d\b|^answered [2-5]\d\d\b/

/** A reason without the words of others: those of ours, and the codes of a reply. */
export function maskReason(reason: string): string {
  if (ownReasons.some((own) => own.test(reason))) return reason
  const beginning = ownBeginnings.map((own) => own.exec(reason)?.[0]).find((found) => found !== undefined) ?? ''
  const rest = reason.slice(beginning.length)
  if (beginning !== '' && ownReasons.some((own) => own.test(rest))) return reason
  const code = replyCode.exec(rest)?.[0]
  return `${beginning}${code === undefined ? '' : `${code} `}${hidden}`
}

const letterBeginning = /^[\w.-]{1,64} answered [\w.-]{1,60}: /

/** What a dead letter died of: a provider's answer with its code, and a reason. */
export function maskLetterDetail(cause: string, detail: string): string {
  const beginning = cause === 'permanent' ? (letterBeginning.exec(detail)?.[0] ?? '') : ''
  return `${beginning}${maskReason(detail.slice(beginning.length))}`
}

/** Members of a timeline's details that tell of the event type, its settings and our decisions, never of the person. */
const shownDetails: ReadonlySet<string> = new Set(
  `at attempt because cap cause channels count delivery_id event expires_at into limit machine params priority provider
   reason_code soft source state template until variables`.split(/\s+/),
)

type Detail = Readonly<Record<string, unknown>>

/** A timeline without personal values. */
export function maskTimeline(timeline: readonly TimelineEntry[]): TimelineEntry[] {
  return timeline.map((entry) =>
    entry.detail ? ({ ...entry, detail: maskDetail(entry.detail) } as TimelineEntry) : entry,
  )
}

function maskDetail(detail: Detail): Detail {
  return Object.fromEntries(
    Object.entries(detail).map(([name, value]) => {
      const isShown = shownDetails.has(name) || (name === 'reason' && isOwnSentence(detail.reason_code))
      return [name, isShown ? value : maskMember(name, value)]
    }),
  )
}

function maskMember(name: string, value: unknown): unknown {
  if (name === 'results' && Array.isArray(value)) return value.map((each) => maskResult(each as Detail))
  return name === 'reason' && typeof value === 'string' ? maskReason(value) : hidden
}

const shownResults: ReadonlySet<string> = new Set(['target', 'provider', 'result', 'kind', 'code', 'at'])

/** What came back for one target. */
export function maskResult(result: Detail): Detail {
  return Object.fromEntries(
    Object.entries(result).map(([name, value]) => [name, shownResults.has(name) ? value : maskMember(name, value)]),
  )
}
