import type { IncomingMessage } from 'node:http'
import { addressText } from '../model/address.ts'
import { createAddresses } from './addresses.ts'
import type { ForwardedClaims } from './forwarded-claims.ts'

/** Options of {@link createClientAddressLookup}. */
export interface ClientAddressOptions {
  /** CIDR ranges of the proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[]
  /** For a process behind our own gateway: verifies the address that the gateway claims. */
  readonly claims?: ForwardedClaims
  /** Called once when a request has an invalid claim: the secrets differ, or the clocks. */
  readonly onFalseClaim?: () => void
}

/**
 * A function that returns the client's address of a request, for logs and `request.ip`: the one that our own gateway
 * claims, else the one by the rules of X-Forwarded-For.
 * @throws RangeError on a range that cannot be parsed
 */
export function createClientAddressLookup({
  trustedProxies,
  claims,
  onFalseClaim,
}: ClientAddressOptions): (raw: IncomingMessage) => string {
  const addresses = createAddresses(trustedProxies)
  const known = new WeakMap<IncomingMessage, string>()
  let isReported = false

  function findAddress(raw: IncomingMessage): string {
    const claimed = claims?.read(raw)
    if (claimed === null && !isReported) {
      isReported = true
      onFalseClaim?.()
    }
    return claimed ?? addressText(addresses.clientOf(raw))
  }

  return (raw) => {
    const address = known.get(raw) ?? findAddress(raw)
    known.set(raw, address)
    return address
  }
}
