import type { IncomingMessage } from 'node:http'
import { hopByHopHeaders, nominatedHeaders } from '../http/connection-headers.ts'
import { removeOwnCookies } from '../http/own-cookies.ts'
import { foldName, reservedPrefix } from '../http/reserved-headers.ts'
import type { Forwarding } from '../model/forwarding.ts'
import { acceptsTrailers } from './response-headers.ts'

/** Headers that only a trusted proxy may set. The gateway writes them again for every upstream request. */
const forwardingHeader = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-original-.*|x-rewrite-url)$/

/** How the headers of one upstream request are made. */
export interface UpstreamHeadersOptions {
  readonly forwarding: Forwarding
  /** Keep the Authorization and X-API-Key headers; otherwise a credential checked here stays here. */
  readonly keepCredentials: boolean
  /** Keep the cookies of our own services: for the service that sets them. */
  readonly keepCookies: boolean
  /** The caller's headers and the request id. */
  readonly added: Readonly<Record<string, string>>
}

/**
 * The headers of an upstream request, as a flat list of names and values: the gateway's, then the caller's own without
 * the hop-by-hop ones, those its Connection header nominates and those that only the gateway may set. Nominations apply
 * to the caller's only, so that `Connection: x-gatehouse-user` removes nothing of ours (CVE-2026-33805). Ours come first,
 * because some servers read only so many lines.
 */
export function upstreamHeaders(
  raw: IncomingMessage,
  { forwarding, keepCredentials, keepCookies, added }: UpstreamHeadersOptions,
): string[] {
  const nominated = nominatedHeaders(raw.headers.connection)
  const bearer = /^bearer(?: |$)/i.test(raw.headers.authorization ?? '')
  const { chain, peer, proto, host } = forwarding
  const list = ['x-forwarded-for', chain === undefined ? peer : `${chain}, ${peer}`]
  list.push('x-forwarded-proto', proto, 'x-forwarded-host', host)
  for (const [name, value] of Object.entries(added)) list.push(name, value)
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? ''
    const lower = name.toLowerCase()
    if (hopByHopHeaders.has(lower) || lower === 'host' || nominated?.has(lower)) continue
    if (!keepCredentials && ((lower === 'authorization' && bearer) || lower === 'x-api-key')) continue
    const first = lower.charCodeAt(0)
    if ((first === 0x78 || first === 0x66) && isReserved(foldName(lower), added)) continue
    const value = raw.rawHeaders[i + 1] ?? ''
    const passed = lower === 'cookie' && !keepCookies ? removeOwnCookies(value) : value
    if (passed !== undefined) list.push(name, passed)
  }
  if (acceptsTrailers(raw)) list.push('te', 'trailers')
  return list
}

function isReserved(name: string, added: Readonly<Record<string, string>>): boolean {
  return name.startsWith(reservedPrefix) || forwardingHeader.test(name) || Object.hasOwn(added, name)
}
