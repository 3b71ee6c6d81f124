import { Problem } from '@gatehouse/kit'
import { type Address, inRange, parseAddress, parseRange } from '../model/address.ts'

/** The maximum of X-Forwarded-For entries. A request with more is refused with 400. */
export const maxForwardedEntries = 32

/** The rules of X-Forwarded-For. */
export interface ForwardedFor {
  /** Whether an address is that of a trusted proxy. */
  trusts(peer: Address): boolean
  /**
   * The client's address: the peer, unless it is trusted; then the first entry of X-Forwarded-For from the right that is
   * not trusted. A malformed entry ends the search. The header `Forwarded` is never read: two sources of one fact could
   * contradict each other.
   * @throws Problem 400 when there are more than {@link maxForwardedEntries} entries.
   */
  clientOf(peer: Address, forwardedFor: string | undefined): Address
}

/**
 * The rules for these CIDR ranges of trusted proxies. With an empty list no proxy is trusted.
 * @throws RangeError on an invalid range
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
        throw new Problem(400, `X-Forwarded-For has more than ${maxForwardedEntries} entries.`)
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
