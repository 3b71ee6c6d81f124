import type { IncomingMessage } from 'node:http'
import { Problem } from '@gatehouse/kit'

/** Prefix of the headers in which the gateway describes the caller to upstreams. Nobody else may send one. */
export const reservedPrefix = 'x-gatehouse-'

/** Headers that identify or frame a request. Two of them are two different requests to two readers. */
const singleHeaders = new Set(['authorization', 'x-api-key', 'content-length', 'host'])

/** The name as servers behind CGI-like gateways read it: `X_Gatehouse.User` and `X-Gatehouse-User` are one variable. */
export function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')
}

/**
 * Removes every inbound header with the reserved prefix, in any case and punctuation, from the request itself, so that
 * neither a local service nor an upstream ever sees one. Runs on every request, authenticated or not.
 * @throws Problem 400 when a header that must be unique occurs twice
 */
export function removeReservedHeaders(raw: IncomingMessage): void {
  const { rawHeaders } = raw
  let seen = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const first = name.charCodeAt(0) | 0x20
    if (first === 0x78 && foldName(name).startsWith(reservedPrefix)) {
      delete raw.headers[name.toLowerCase()]
      rawHeaders.splice(i, 2)
      i -= 2
    } else if (
      (first === 0x61 || first === 0x78 || first === 0x63 || first === 0x68) &&
      singleHeaders.has(name.toLowerCase())
    ) {
      const bit = bitOf(name)
      if (seen & bit) throw new Problem(400, `The header ${name} occurs more than once.`)
      seen |= bit
    }
  }
}

const bits = new Map([...singleHeaders].map((name, i) => [name, 1 << i]))
const bitOf = (name: string) => bits.get(name.toLowerCase()) ?? 0
