import { createHmac, hkdfSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Clock, constantTimeEqual, type Secret } from '@gatehouse/kit'

/** How a gateway tells our own services in other processes for whom it asks. */
const claimHeader = 'x-gatehouse-forwarded'
/** How far two clocks may be apart, and how long a claim may be under way. */
const maxAgeMs = 60_000
const maxClaimLength = 200

/** Says, and believes, for whom a request is made: what the service client's secret has signed, wherever it comes from. */
export interface ForwardedClaims {
  /** The header for one request to a sibling, with the target as the sibling sees it. */
  headers(method: string, target: string, address: string): Readonly<Record<string, string>>
  /** The address that our own gateway claims; undefined without a claim, null for one that isn't ours or is too old. */
  read(raw: IncomingMessage): string | null | undefined
}

/**
 * Claims signed with HMAC-SHA-256 under a key derived from the service client's secret, which every service of ours has.
 * One holds for one method and target, for a minute: whoever sees it can't speak for other requests with it.
 */
export function createForwardedClaims(secret: Secret, clock: Clock): ForwardedClaims {
  const key = Buffer.from(hkdfSync('sha256', secret.reveal(), 'gatehouse', 'forwarded address', 32))
  const macOf = (parts: readonly string[]) => createHmac('sha256', key).update(parts.join('\n')).digest('base64url')
  return {
    headers(method, target, address) {
      const at = String(clock.now())
      return { [claimHeader]: `${at} ${address} ${macOf([at, address, method, target])}` }
    },
    read({ headers, method = '', url = '' }) {
      const claim = headers[claimHeader]
      if (claim === undefined) return undefined
      if (typeof claim !== 'string' || claim.length > maxClaimLength) return null
      const [at = '', address = '', mac = ''] = claim.split(' ')
      const fresh = Math.abs(clock.now() - Number(at)) <= maxAgeMs
      return fresh && constantTimeEqual(mac, macOf([at, address, method, url])) ? address : null
    },
  }
}
