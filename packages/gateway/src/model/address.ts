import { isIPv4, isIPv6 } from 'node:net'

/** An IP address as its bytes: 4 for IPv4 (an IPv4-mapped IPv6 address is one), 16 for IPv6. */
export type Address = Uint8Array

/** A range of addresses: all that share the first `bits` of `base`. */
export interface AddressRange {
  readonly base: Address
  readonly bits: number
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
const mappedBits = 96

/** Parses an address; undefined for other text. IPv4-mapped IPv6 (RFC 4291 §2.5.5.2) is folded to IPv4. */
export function parseAddress(text: string): Address | undefined {
  const zone = text.indexOf('%')
  const bytes = parseBytes(zone < 0 ? text : text.slice(0, zone))
  return bytes && isMapped(bytes) ? bytes.subarray(12) : bytes
}

/**
 * Parses a CIDR range such as `10.0.0.0/8`, or a single address. A range of IPv4-mapped addresses is folded to IPv4; one
 * wider than all of IPv4 (`::ffff:10.0.0.0/8`) is rejected, since it would trust every client.
 * @throws RangeError naming the range and what was expected.
 */
export function parseRange(text: string): AddressRange {
  const [address = '', length, ...rest] = text.trim().split('/')
  const bytes = parseBytes(address)
  const widest = bytes && bytes.length * 8
  if (!bytes || !widest || rest.length > 0) throw new RangeError(`"${text}" is not an address range like 10.0.0.0/8`)
  const bits = length === undefined ? widest : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN
  if (!(bits <= widest)) throw new RangeError(`"${text}": the prefix length must be 0 to ${widest}`)
  if (!isMapped(bytes)) return { base: bytes, bits }
  if (bits < mappedBits)
    throw new RangeError(`"${text}" covers every IPv4 address; write the IPv4 range itself, like 10.0.0.0/8`)
  return { base: bytes.subarray(12), bits: bits - mappedBits }
}

/** Whether the address lies in the range. Addresses of different families never do. */
export function inRange(address: Address, { base, bits }: AddressRange): boolean {
  if (address.length !== base.length) return false
  const whole = bits >> 3
  for (let i = 0; i < whole; i++) if (address[i] !== base[i]) return false
  const mask = 0xff00 >> (bits & 7)
  return ((address[whole] ?? 0) & mask & 0xff) === ((base[whole] ?? 0) & mask & 0xff)
}

/** The address as it is counted: IPv4 in full, IPv6 by its /64, the network of one subscriber. */
export function countedAddress(address: Address): string {
  if (address.length === 4) return address.join('.')
  const words = [0, 2, 4, 6].map((i) => (((address[i] ?? 0) << 8) | (address[i + 1] ?? 0)).toString(16))
  return `${words.join(':')}::/64`
}

/** The address in full, as upstreams receive it. */
export function addressText(address: Address): string {
  if (address.length === 4) return address.join('.')
  const words = Array.from({ length: 8 }, (_, i) => ((address[2 * i] ?? 0) << 8) | (address[2 * i + 1] ?? 0))
  return words.map((word) => word.toString(16)).join(':')
}

function isMapped(bytes: Uint8Array): boolean {
  return bytes.length === 16 && mappedPrefix.every((byte, i) => bytes[i] === byte)
}

function parseBytes(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split('.'), Number)
  if (!isIPv6(text)) return undefined
  const [head = '', tail] = text.split('::')
  const front = bytesOfWords(head)
  const back = tail === undefined ? [] : bytesOfWords(tail)
  const bytes = new Uint8Array(16)
  bytes.set(front)
  bytes.set(back, 16 - back.length)
  return bytes
}

function bytesOfWords(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((word) => {
    if (word.includes('.')) return word.split('.').map(Number)
    const value = Number.parseInt(word, 16)
    return [value >> 8, value & 0xff]
  })
}
