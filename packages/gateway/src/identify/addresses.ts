import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { type Address, addressText, parseAddress } from '../model/address.ts'
import type { ForwardedClaims } from './forwarded-claims.ts'
import { createForwardedFor } from './forwarded-for.ts'

/** Where requests come from. */
export interface Addresses {
  /** The other end of the connection. */
  peerOf(raw: IncomingMessage): Address
  /** Who made the request: the peer, or whom trusted proxies forwarded it for. */
  clientOf(raw: IncomingMessage): Address
  /** What a trusted peer said in X-Forwarded-For; of others nothing. */
  chainOf(raw: IncomingMessage): string | undefined
  /** Whether what the peer forwards may be believed. */
  trusts(raw: IncomingMessage): boolean
  /** Makes `request.ip` the client's address, for the services behind. */
  setClientAddress(request: FastifyRequest): void
}

/** Sockets that tell no address (Unix sockets) count together. */
const unknownPeer: Address = new Uint8Array(4)

/** Addresses by the forwarded-for rules. @throws RangeError on a range that can't be read. */
export function createAddresses(trustedProxies: readonly string[]): Addresses {
  const forwardedFor = createForwardedFor(trustedProxies)
  const peers = new WeakMap<Socket, { readonly address: Address; readonly trusted: boolean }>()

  function peer({ socket }: IncomingMessage) {
    const known = peers.get(socket)
    if (known) return known
    const address = parseAddress(socket.remoteAddress ?? '') ?? unknownPeer
    const found = { address, trusted: forwardedFor.trusts(address) }
    peers.set(socket, found)
    return found
  }

  const addresses: Addresses = {
    peerOf: (raw) => peer(raw).address,
    trusts: (raw) => peer(raw).trusted,
    chainOf: (raw) => (peer(raw).trusted ? xForwardedFor(raw) : undefined),
    clientOf: (raw) => forwardedFor.clientOf(peer(raw).address, addresses.chainOf(raw)),
    setClientAddress(request) {
      if (addresses.chainOf(request.raw) === undefined) return
      Object.defineProperty(request, 'ip', { value: addressText(addresses.clientOf(request.raw)) })
    },
  }
  return addresses
}

/** Node joins repeated X-Forwarded-For headers in their order. */
function xForwardedFor({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-forwarded-for']
  return Array.isArray(value) ? value.join(', ') : value
}

export interface ClientAddressOptions {
  readonly trustedProxies: readonly string[]
  /** For a process behind a gateway of ours: how that one says for whom it asks. */
  readonly claims?: ForwardedClaims
  /** Told once when a request says it comes from our gateway and does not: the secrets differ, or the clocks. */
  readonly onFalseClaim?: () => void
}

/**
 * Whom a request comes from, for logs and `request.ip`: whom our own gateway asks for, else the rules of forwarded-for.
 * @throws RangeError on a range that can't be read
 */
export function createClientAddressLookup({
  trustedProxies,
  claims,
  onFalseClaim,
}: ClientAddressOptions): (raw: IncomingMessage) => string {
  const addresses = createAddresses(trustedProxies)
  const found = new WeakMap<IncomingMessage, string>()
  let reported = false

  function find(raw: IncomingMessage): string {
    const claimed = claims?.read(raw)
    if (claimed === null && !reported) {
      reported = true
      onFalseClaim?.()
    }
    return claimed ?? addressText(addresses.clientOf(raw))
  }

  return (raw) => {
    const address = found.get(raw) ?? find(raw)
    found.set(raw, address)
    return address
  }
}
