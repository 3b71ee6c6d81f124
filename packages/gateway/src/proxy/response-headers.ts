import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hopByHopHeaders, nominatedHeaders } from '../http/connection-headers.ts'
import { isOwnCookie } from '../http/own-cookies.ts'
import { reservedPrefix } from '../http/reserved-headers.ts'

/**
 * The headers of an upstream's response that are forwarded: all but the hop-by-hop headers, those its Connection header
 * nominates, those with the reserved prefix, Content-Length where `status` allows none (RFC 9110 §8.6) and, unless
 * `keepCookies`, cookies with names of ours.
 */
export function responseHeaders(
  upstream: IncomingHttpHeaders,
  { status = 200, keepCookies = false }: { readonly status?: number; readonly keepCookies?: boolean } = {},
): Record<string, string | string[]> {
  const nominated = nominatedHeaders(upstream.connection)
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(upstream)) {
    if (value === undefined || hopByHopHeaders.has(name) || nominated?.has(name) || name.startsWith(reservedPrefix))
      continue
    if (name === 'content-length' && (status < 200 || status === 204)) continue
    if (name !== 'set-cookie' || keepCookies) headers[name] = value
    else headers[name] = [value].flat().filter((one) => !isOwnCookie(one))
  }
  return headers
}

/**
 * The headers of a response: the gateway's replace the upstream's of the same name. `Vary` names what both of them depend
 * on (RFC 9110 §12.5.5): a cache would give the response for one value to others.
 */
export function withGatewayHeaders(
  forwarded: Readonly<Record<string, string | string[]>>,
  own: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  const headers = { ...forwarded, ...own }
  if (forwarded.vary !== undefined && own.vary !== undefined) headers.vary = `${forwarded.vary}, ${own.vary}`
  return headers
}

/** Fields that would change how a message is framed, routed, cached or authenticated if they were read after its body. */
const forbiddenTrailers =
  /^(?:content-.*|cache-control|age|expires|date|location|retry-after|vary|www-authenticate|authorization|set-cookie|host|ratelimit.*|x-ratelimit-.*)$/

/** Whether the client accepts trailer fields (RFC 9110 §10.1.4). */
export function acceptsTrailers({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(String(headers.te ?? ''))
}

/** The trailer fields of an upstream's response that are forwarded (RFC 9110 §6.5.1). */
export function responseTrailers(upstream: IncomingHttpHeaders): Record<string, string> {
  const trailers: Record<string, string> = {}
  for (const [name, value] of Object.entries(responseHeaders(upstream)))
    if (!forbiddenTrailers.test(name)) trailers[name] = String(value)
  return trailers
}
