import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { type Address, addressText, parseAddress } from '../model/address.ts'
import type { Forwarding } from '../model/forwarding.ts'
import { createForwardedFor } from './forwarded-for.ts'

/** The addresses of requests: of their connections, and of their clients behind trusted proxies. */
export interface Addresses {
  /** The address of the client: the peer, or the one that trusted proxies forwarded the request for. */
  clientOf(raw: IncomingMessage): Address
  /** How the request reached the gateway, for the forwarding headers of its upstream request. */
  forwardingOf(raw: IncomingMessage): Forwarding
  /** Makes `request.ip` the client's address, for the services behind the gateway. */
  setClientAddress(request: FastifyRequest): void
}

/** Sockets without an address (Unix sockets) count together. */
const unknownPeer: Address = new Uint8Array(4)

/** Addresses by the rules of forwarded-for.ts. @throws RangeError on a range that cannot be parsed */
export function createAddresses(trustedProxies: readonly string[]): Addresses {
  const forwardedFor = createForwardedFor(trustedProxies)
  const peers = new WeakMap<Socket, { readonly address: Address; readonly trusted: boolean }>()

  function peerOf({ socket }: IncomingMessage) {
    const known = peers.get(socket)
    if (known) return known
    const address = parseAddress(socket.remoteAddress ?? '') ?? unknownPeer
    const peer = { address, trusted: forwardedFor.trusts(address) }
    peers.set(socket, peer)
    return peer
  }

  /** X-Forwarded-For of a trusted peer; undefined for any other. */
  const chainOf = (raw: IncomingMessage) => (peerOf(raw).trusted ? xForwardedFor(raw) : undefined)
  const clientOf = (raw: IncomingMessage) => forwardedFor.clientOf(peerOf(raw).address, chainOf(raw))

  return {
    clientOf,
    forwardingOf(raw) {
      const { address, trusted } = peerOf(raw)
      const { headers } = raw
      return {
        peer: addressText(address),
        chain: chainOf(raw),
        proto: (trusted && singleWord(headers['x-forwarded-proto'])) || ('encrypted' in raw.socket ? 'https' : 'http'),
        host: (trusted && singleWord(headers['x-forwarded-host'])) || (headers.host ?? ''),
      }
    },
    setClientAddress(request) {
      if (chainOf(request.raw) === undefined) return
      Object.defineProperty(request, 'ip', { value: addressText(clientOf(request.raw)) })
    },
  }
}

/** Node joins repeated X-Forwarded-For headers in their order. */
function xForwardedFor({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-forwarded-for']
  return Array.isArray(value) ? value.join(', ') : value
}

function singleWord(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.:[\]-]{1,255}$/.test(value) ? value : undefined
}
