import { ECDH } from 'node:crypto'
import { isIP } from 'node:net'
import { isPublicAddress } from '../transport/public-address.ts'

/** The push subscription of a browser (W3C Push API, PushSubscription). */
export interface Subscription {
  readonly endpoint: URL
  /** The public key of the browser, an uncompressed P-256 point. */
  readonly publicKey: Buffer
  /** The authentication secret of the browser, 16 bytes (RFC 8291 §3.2). */
  readonly auth: Buffer
}

const maxEndpointLength = 2_048

/**
 * Parses the result of `JSON.stringify(subscription)` in the browser.
 * @throws RangeError describing what is wrong
 */
export function parseSubscription(token: string): Subscription {
  const { endpoint: address, keys } = parseJson(token)
  const endpoint = typeof address === 'string' && address.length <= maxEndpointLength ? URL.parse(address) : null
  if (!endpoint || !/^https?:$/.test(endpoint.protocol) || endpoint.username || endpoint.hash)
    throw new RangeError('must be a subscription whose endpoint is an https address')
  const { p256dh, auth } = (keys ?? {}) as { p256dh?: unknown; auth?: unknown }
  return { endpoint, publicKey: parsePublicKey(p256dh), auth: parseAuth(auth) }
}

function parseJson(token: string): { readonly endpoint?: unknown; readonly keys?: unknown } {
  try {
    const value: unknown = JSON.parse(token)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // the error is thrown below
  }
  throw new RangeError('must be a Web Push subscription as JSON: endpoint, keys.p256dh and keys.auth')
}

const base64url = /^[\w-]+={0,2}$/

function parsePublicKey(text: unknown): Buffer {
  const bytes = typeof text === 'string' && base64url.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0)
  try {
    if (bytes.length === 65) return ECDH.convertKey(bytes, 'prime256v1') as Buffer
  } catch {
    // the error is thrown below
  }
  throw new RangeError('must be a subscription whose keys.p256dh is a point of P-256 in base64url')
}

function parseAuth(text: unknown): Buffer {
  const bytes = typeof text === 'string' && base64url.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0)
  if (bytes.length !== 16) throw new RangeError('must be a subscription whose keys.auth is 16 bytes in base64url')
  return bytes
}

/** Which endpoints may be called: they are URLs from clients, which could name any server. */
export interface EndpointRules {
  /** Host names in addition to those of the browsers, with any port; `*.` matches all subdomains. */
  readonly hosts: readonly string[]
  /** Also private addresses, and URLs without TLS: for tests on one machine. */
  readonly allowPrivate: boolean
}

/** The push services of all major browsers. */
const browserHosts = [
  'fcm.googleapis.com',
  '*.push.services.mozilla.com',
  '*.notify.windows.com',
  '*.push.apple.com',
] as const

/** Why an endpoint may not be called, or undefined if it may. */
export function checkEndpoint(
  { protocol, hostname, port }: URL,
  { hosts, allowPrivate }: EndpointRules,
): string | undefined {
  const isListed = matchesHost(hostname, hosts)
  if (!isListed && !matchesHost(hostname, browserHosts))
    return `must be a subscription of a push service that is allowed; ${hostname} is not`
  if (allowPrivate) return undefined
  if (protocol !== 'https:') return 'must be a subscription whose endpoint is an https address'
  if (port && !isListed) return `must be a subscription whose endpoint is at the default port, not at port ${port}`
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 && !isPublicAddress(address) ? 'must be a subscription with a public endpoint' : undefined
}

function matchesHost(hostname: string, patterns: readonly string[]): boolean {
  return patterns.some((each) => (each.startsWith('*.') ? hostname.endsWith(each.slice(1)) : hostname === each))
}
