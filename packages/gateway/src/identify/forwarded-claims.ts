import { createHmac, hkdfSync } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type Clock, constantTimeEqual, type Secret } from '@gatehouse/kit'

/** The header in which a gateway claims the client's address to our own services in other processes. */
const claimHeader = 'x-gatehouse-forwarded'
/** The maximum age of a claim, clock difference included. */
const maxAgeMs = 60_000
const maxClaimLength = 200

/** Signs and verifies the client's address of a request between our own processes. */
export interface ForwardedClaims {
  /** The header for one request to a sibling, with the target as the sibling sees it. */
  headers(method: string, target: string, address: string): Readonly<Record<string, string>>
  /** The claimed address; undefined without a claim, null for an invalid or expired one. */
  read(raw: IncomingMessage): string | null | undefined
}

/**
 * Claims are signed with HMAC-SHA-256 and a key derived from the service client's secret, which all our services have.
 * A claim is valid for one method and target, for a minute, so that it cannot be used for other requests.
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
