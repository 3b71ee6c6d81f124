import type { Caller } from '../model/caller.ts'

const cache = new WeakMap<Caller, Readonly<Record<string, string>>>()

/** The headers that describe the caller to upstreams. Anything but printable ASCII is percent-encoded. */
export function callerHeaders(caller: Caller): Readonly<Record<string, string>> {
  const known = cache.get(caller)
  if (known) return known
  const headers = headersOf(caller)
  cache.set(caller, headers)
  return headers
}

function headersOf({ kind, subject, clientId, keyId, scopes, roles }: Caller): Record<string, string> {
  const headers: Record<string, string> = { 'x-gatehouse-kind': kind }
  if (kind !== 'client') headers['x-gatehouse-user'] = encodeValue(subject)
  const client = kind === 'client' ? subject : clientId
  if (client !== undefined) headers['x-gatehouse-client'] = encodeValue(client)
  if (keyId !== undefined) headers['x-gatehouse-key'] = encodeValue(keyId)
  headers['x-gatehouse-scope'] = [...scopes].map(encodeValue).join(' ')
  if (roles.length > 0)
    headers['x-gatehouse-roles'] = roles.map((role) => encodeValue(role).replaceAll(',', '%2C')).join(',')
  return headers
}

/** Percent-encodes anything but printable ASCII, and the percent sign. */
function encodeValue(value: string): string {
  return value.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent)
}
