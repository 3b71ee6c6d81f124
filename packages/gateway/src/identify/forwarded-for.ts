import { Problem } from '@gatehouse/kit'
import { type Address, inRange, parseAddress, parseRange } from '../model/address.ts'

/** The most entries of X-Forwarded-For that are read; a request with more is refused with 400. */
export const maxForwardedEntries = 32

export interface ForwardedFor {
  /** Whether the socket's other end is a proxy of ours, so that what it forwards may be believed. */
  trusts(peer: Address): boolean
  /**
   * Who made the request: the peer, unless it is trusted; then X-Forwarded-For is walked from the right, past every
   * trusted entry, to the first that is not. A malformed entry ends the walk. The header `Forwarded` is never read:
   * two sources of one truth are a way around it.
   * @throws Problem 400 when there are more than {@link maxForwardedEntries} entries.
   */
  clientOf(peer: Address, forwardedFor: string | undefined): Address
}

/**
 * The forwarded-for rules for the given CIDR ranges of trusted proxies; none are trusted when the list is empty.
 * @throws RangeError on a range that can't be read.
 */
export function createForwardedFor(trustedProxies: readonly string[]): ForwardedFor {
  const ranges = trustedProxies.map(parseRange)
  const trusts = (address: Address) => ranges.some((range) => inRange(address, range))
  return {
    trusts,
    clientOf(peer, forwardedFor) {
      if (forwardedFor === undefined || !trusts(peer)) return peer
      const entries = forwardedFor.split(',')
      if (entries.length > maxForwardedEntries)
        throw new Problem(400, `X-Forwarded-For names more than ${maxForwardedEntries} addresses.`)
      let client = peer
      for (const entry of entries.reverse()) {
        const address = parseEntry(entry.trim())
        if (address === undefined) return client
        client = address
        if (!trusts(address)) return client
      }
      return client
    },
  }
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function parseEntry(entry: string): Address | undefined {
  const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(entry)
  return parseAddress(withPort?.[1] ?? withPort?.[2] ?? entry)
}
