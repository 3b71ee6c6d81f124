import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Problem } from '@gatehouse/kit'

/** Headers with this prefix are ours alone: what the gateway tells upstreams about the caller. */
const reservedPrefix = 'x-gatehouse-'

/** Headers that belong to one connection and are never passed on (RFC 9110 §7.6.1), and `expect`, answered here. */
const hopByHop = new Set([
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What only a proxy of ours may say, and says afresh on every hop. */
const forwarding = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-url)$/

/** Headers that identify or frame a request: two of them are two different requests to two readers. */
const singleHeaders = new Set(['authorization', 'x-api-key', 'content-length', 'host'])

/**
 * Cookies of our own services, whichever of them sets one: no upstream reads them or sets them. Browsers leave the space
 * round a name away, and send a cookie without a name as its value alone: `=gatehouse_session=x` comes back as ours.
 */
const ownCookie = /^[\s=]*(?:__(?:host|secure)-)?gatehouse[_-]/i

/** How servers behind CGI-like gateways see a name: `X_Gatehouse.User` becomes the same variable as `X-Gatehouse-User`. */
const foldName = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')

/**
 * Removes every inbound header with the reserved prefix, however it is cased or punctuated, from the request itself, so
 * that neither a local service nor an upstream ever sees one. Runs on every request, authenticated or not.
 * @throws Problem 400 when a header that must stand alone comes twice.
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
      if (seen & bit) throw new Problem(400, `The header ${name} is there more than once.`)
      seen |= bit
    }
  }
}

const bits = new Map([...singleHeaders].map((name, i) => [name, 1 << i]))
const bitOf = (name: string) => bits.get(name.toLowerCase()) ?? 0

export interface Forwarded {
  /** The header a proxy of ours sent, and this gateway continues; undefined when the peer isn't trusted. */
  readonly chain: string | undefined
  readonly peer: string
  readonly proto: string
  readonly host: string
}

export interface UpstreamHeadersOptions {
  readonly forwarded: Forwarded
  /** Keep the Authorization and X-API-Key headers; otherwise a credential checked here stays here. */
  readonly keepCredentials: boolean
  /** Keep the cookies of our own services: for the one that sets them. */
  readonly keepCookies: boolean
  /** What the gateway tells about the caller, and the request id. */
  readonly added: Readonly<Record<string, string>>
}

/**
 * The headers an upstream gets, as a flat list of names and values: the request's own without the hop-by-hop ones,
 * those its Connection header nominates and those that only we may say; then ours. Nominations are obeyed before ours
 * are added, so that `Connection: x-gatehouse-user` takes nothing away (CVE-2026-33805).
 */
export function upstreamHeaders(
  raw: IncomingMessage,
  { forwarded, keepCredentials, keepCookies, added }: UpstreamHeadersOptions,
): string[] {
  const nominated = nominatedHeaders(raw.headers.connection)
  const bearer = /^bearer(?: |$)/i.test(raw.headers.authorization ?? '')
  const list: string[] = []
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? ''
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) || lower === 'host' || nominated?.has(lower)) continue
    if (!keepCredentials && ((lower === 'authorization' && bearer) || lower === 'x-api-key')) continue
    const first = lower.charCodeAt(0)
    if ((first === 0x78 || first === 0x66) && isReserved(foldName(lower), added)) continue
    const value = raw.rawHeaders[i + 1] ?? ''
    const passed = lower === 'cookie' && !keepCookies ? removeOwnCookies(value) : value
    if (passed !== undefined) list.push(name, passed)
  }
  if (acceptsTrailers(raw)) list.push('te', 'trailers')
  const { chain, peer, proto, host } = forwarded
  list.push('x-forwarded-for', chain === undefined ? peer : `${chain}, ${peer}`)
  list.push('x-forwarded-proto', proto, 'x-forwarded-host', host)
  for (const [name, value] of Object.entries(added)) list.push(name, value)
  return list
}

/** A Cookie header without our own; undefined when nothing is left. Quotes enclose nothing here, as in browsers. */
function removeOwnCookies(value: string): string | undefined {
  if (!/gatehouse/i.test(value)) return value
  const foreign = value.split(';').filter((pair) => !ownCookie.test(pair))
  return foreign.length === 0 ? undefined : foreign.join(';').trim()
}

function isReserved(name: string, added: Readonly<Record<string, string>>): boolean {
  return name.startsWith(reservedPrefix) || forwarding.test(name) || Object.hasOwn(added, name)
}

/**
 * What of an upstream's answer is passed on: all but the hop-by-hop headers, those its Connection header nominates,
 * those under the reserved prefix and, unless `keepCookies`, cookies with the names of ours.
 */
export function responseHeaders(
  upstream: IncomingHttpHeaders,
  { keepCookies = false }: { readonly keepCookies?: boolean } = {},
): Record<string, string | string[]> {
  const nominated = nominatedHeaders(upstream.connection)
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(upstream)) {
    if (value === undefined || hopByHop.has(name) || nominated?.has(name) || name.startsWith(reservedPrefix)) continue
    if (name !== 'set-cookie' || keepCookies) headers[name] = value
    else headers[name] = [value].flat().filter((one) => !ownCookie.test(one))
  }
  return headers
}

/** Fields that would change how a message is framed, routed, kept or believed, were they read after its body. */
const forbiddenTrailers =
  /^(?:content-.*|cache-control|age|expires|date|location|retry-after|vary|www-authenticate|authorization|set-cookie|host|ratelimit.*|x-ratelimit-.*)$/

/** Whether the caller reads fields behind a body (RFC 9110 §10.1.4). */
export function acceptsTrailers({ headers }: IncomingMessage): boolean {
  return /(?:^|,)\s*trailers\s*(?:;|,|$)/i.test(String(headers.te ?? ''))
}

/** What of the fields behind an upstream's body is passed on (RFC 9110 §6.5.1). */
export function responseTrailers(upstream: IncomingHttpHeaders): Record<string, string> {
  const trailers: Record<string, string> = {}
  for (const [name, value] of Object.entries(responseHeaders(upstream)))
    if (!forbiddenTrailers.test(name)) trailers[name] = String(value)
  return trailers
}

/** The names a Connection header nominates; undefined when there are none beyond the usual. */
function nominatedHeaders(connection: string | string[] | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined
  return new Set(
    String(connection)
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  )
}
