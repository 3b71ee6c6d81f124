/** What a search text stands for. */
export type SearchTarget =
  /** A notification, a delivery, a dead letter, a user, a session, an API key or a request. */
  | { readonly kind: 'uuid'; readonly id: string; readonly time: Date | undefined }
  /** An API key itself: it is sent in the body of a request only, and not kept; a part of one is not sent at all. */
  | { readonly kind: 'api_key'; readonly key: string | undefined }
  | { readonly kind: 'mail'; readonly email: string }
  | { readonly kind: 'phone'; readonly phone_number: string }
  | { readonly kind: 'address'; readonly address: string }
  /** The composed dedup key of a notification: `event:key:user:channel`. */
  | { readonly kind: 'dedup_key'; readonly key: string; readonly userId: string }
  /** The beginning of an id or a name, or the id of a request. */
  | { readonly kind: 'text'; readonly text: string }
  /** Longer than anything of its kind: no API takes it. */
  | { readonly kind: 'too_long'; readonly maxLength: number }

/** The most characters that a search text can have: a composed dedup key is the longest of all. */
export const maxSearchLength = 1_000
/** The most characters that the APIs take of each kind. */
const maxLengths = { text: 128, mail: 254, dedupKey: 500, userId: 256 } as const

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const wholeKey = /^gk_[\w-]{43}$/
const phone = /^(?:\+|00)\d{6,15}$/
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/
const ipv6 = /^(?=.*:.*:)[0-9a-f:]{2,39}(?:%\w+)?$/i
const composedKey = /^[^:]+:(.+):([^:]+):(?:push|email|sms|in-app)$/

/** Classifies a search text; undefined for one that is empty. */
export function classifySearch(searched: string): SearchTarget | undefined {
  const text = searched.trim()
  if (text === '') return undefined
  if (text.length > maxSearchLength) return { kind: 'too_long', maxLength: maxLengths.text }
  if (uuid.test(text)) return { kind: 'uuid', id: text.toLowerCase(), time: timeOfUuid(text) }
  if (text.startsWith('gk_')) return { kind: 'api_key', key: wholeKey.test(text) ? text : undefined }
  if (ipv4.test(text) || ipv6.test(text)) return { kind: 'address', address: text }
  const [, key, userId] = composedKey.exec(text) ?? []
  if (key !== undefined && userId !== undefined) {
    if (key.length > maxLengths.dedupKey || userId.length > maxLengths.userId)
      return { kind: 'too_long', maxLength: maxLengths.dedupKey }
    return { kind: 'dedup_key', key, userId }
  }
  if (/.@./.test(text)) return bounded({ kind: 'mail', email: text }, text, maxLengths.mail)
  const number = text.replaceAll(/[\s()./-]/g, '')
  if (phone.test(number)) return { kind: 'phone', phone_number: number.replace(/^00/, '+') }
  return bounded({ kind: 'text', text }, text, maxLengths.text)
}

function bounded(target: SearchTarget, text: string, maxLength: number): SearchTarget {
  return text.length > maxLength ? { kind: 'too_long', maxLength } : target
}

/** When a UUID of version 7 was made (RFC 9562 §5.7); undefined for other versions. */
export function timeOfUuid(id: string): Date | undefined {
  if (id[14] !== '7') return undefined
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16))
}
