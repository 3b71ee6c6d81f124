import { isIPv4, isIPv6 } from 'node:net'

/*
 * What a caller sees who may not read personal data: enough to recognize a value in a support case, too little to
 * reach or name the person. Masking is one-way and keeps no length.
 */

const hidden = '•••'

/** `alice@example.com` as `a•••@example.com`. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  return at < 1 ? hidden : `${firstCharacter(email)}${hidden}${email.slice(at)}`
}

/** `+447700900123` as `+44•••123`. */
export function maskPhoneNumber(phoneNumber: string): string {
  return phoneNumber.length < 8 ? hidden : `${phoneNumber.slice(0, 3)}${hidden}${phoneNumber.slice(-3)}`
}

/** `Alice Mary Adams` as `A. M. A.` */
export function maskName(name: string): string {
  const words = name.split(/\s+/u).filter((word) => word !== '')
  return words.map((word) => `${firstCharacter(word)}.`).join(' ')
}

/** An IPv4 address as its /24, an IPv6 address as its /48. */
export function maskIpAddress(address: string): string {
  if (isIPv4(address)) return `${address.split('.').slice(0, 3).join('.')}.0/24`
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return maskIpAddress(mapped)
  if (!isIPv6(address)) return hidden
  return `${expandedGroups(address).slice(0, 3).join(':')}::/48`
}

/** The members of an object with the type of each instead of its value; nested objects likewise. */
export function maskMembers(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, typeOf(value)]))
}

function typeOf(value: unknown): unknown {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  return typeof value === 'object' ? maskMembers(value as Record<string, unknown>) : typeof value
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) ?? 0)
}

/** The eight groups of an IPv6 address (RFC 4291 §2.2), without leading zeros. */
function expandedGroups(address: string): string[] {
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const missing = Math.max(0, 8 - before.length - after.length)
  const groups = address.includes('::') ? [...before, ...Array<string>(missing).fill('0'), ...after] : before
  return groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}
