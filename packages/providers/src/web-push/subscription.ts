import { ECDH } from 'node:crypto'
import { isIP } from 'node:net'
import { isPublicAddress } from '../transport/public-address.ts'

/** Where and for whom a browser takes pushes (W3C Push API, PushSubscription). */
export interface Subscription {
  readonly endpoint: URL
  /** The browser's public key, a point of P-256, uncompressed. */
  readonly publicKey: Buffer
  /** The secret of 16 bytes between the browser and us. */
  readonly auth: Buffer
}

const maxEndpointLength = 2_048

/** Reads what `JSON.stringify(subscription)` made in the browser. Throws RangeError saying what is wrong with it. */
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
    // said below
  }
  throw new RangeError('must be a Web Push subscription as JSON: endpoint, keys.p256dh and keys.auth')
}

const base64url = /^[\w-]+={0,2}$/

function parsePublicKey(text: unknown): Buffer {
  const bytes = typeof text === 'string' && base64url.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0)
  try {
    if (bytes.length === 65) return ECDH.convertKey(bytes, 'prime256v1') as Buffer
  } catch {
    // said below
  }
  throw new RangeError('must be a subscription whose keys.p256dh is a point of P-256 in base64url')
}

function parseAuth(text: unknown): Buffer {
  const bytes = typeof text === 'string' && base64url.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0)
  if (bytes.length !== 16) throw new RangeError('must be a subscription whose keys.auth is 16 bytes in base64url')
  return bytes
}

/** Where pushes may go: an endpoint is an address that a browser gave, and could be any. */
export interface EndpointRules {
  /** Host names; `*.` before one stands for any names below it. */
  readonly hosts: readonly string[]
  /** Also addresses that are not on the public internet, and without TLS: for rehearsals on one machine. */
  readonly allowPrivate: boolean
}

/** The push services of the browsers there are. */
export const browserHosts = [
  'fcm.googleapis.com',
  '*.push.services.mozilla.com',
  '*.notify.windows.com',
  '*.push.apple.com',
] as const

/** Why nothing may be sent to an endpoint; undefined when it may. */
export function checkEndpoint({ protocol, hostname }: URL, { hosts, allowPrivate }: EndpointRules): string | undefined {
  if (!hosts.some((pattern) => matchesHost(hostname, pattern)))
    return `must be a subscription of a push service that is allowed; ${hostname} is not`
  if (allowPrivate) return undefined
  if (protocol !== 'https:') return 'must be a subscription whose endpoint is an https address'
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 && !isPublicAddress(address) ? 'must be a subscription with a public endpoint' : undefined
}

function matchesHost(hostname: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? hostname.endsWith(pattern.slice(1)) : hostname === pattern
}
