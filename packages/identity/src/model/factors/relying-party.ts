import { isIP } from 'node:net'

/** This server, as authenticators know it (WebAuthn Level 3 §4, Relying Party). */
export interface RelyingParty {
  /** The host that passkeys are bound to. Another one makes all of them useless. */
  readonly id: string
  /** The only origin whose pages may use them. */
  readonly origin: string
}

/** The relying party of an issuer: exactly its host and origin, whatever host a request names. */
export function relyingPartyOf(issuer: string): RelyingParty {
  const { hostname, origin } = new URL(issuer)
  return { id: hostname, origin }
}

/** Why browsers allow no passkeys at an issuer; undefined if they do (WebAuthn Level 3 §5.1.2, §13.4.9). */
export function findPasskeyObstacle(issuer: string): string | undefined {
  const { protocol, hostname } = new URL(issuer)
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0)
    return `browsers allow no passkeys for an IP address (${hostname}): use a host name, or localhost, in AUTH_URL`
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (protocol !== 'https:' && !isLocal) return 'browsers allow passkeys only with https, or at localhost: see AUTH_URL'
  return undefined
}
