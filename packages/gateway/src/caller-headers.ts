import type { Caller } from './caller.ts'

/**
 * What upstreams are told about the caller; nothing for a request without one. Values that are not plain ASCII are
 * percent-encoded.
 */
export function callerHeaders(caller: Caller | undefined): Record<string, string> {
  if (caller === undefined) return {}
  const { kind, subject, clientId, keyId, scopes, roles } = caller
  const headers: Record<string, string> = { 'x-gatehouse-kind': kind }
  if (kind !== 'client') headers['x-gatehouse-user'] = plain(subject)
  const client = kind === 'client' ? subject : clientId
  if (client !== undefined) headers['x-gatehouse-client'] = plain(client)
  if (keyId !== undefined) headers['x-gatehouse-key'] = plain(keyId)
  headers['x-gatehouse-scope'] = [...scopes].map(plain).join(' ')
  if (roles.length > 0) headers['x-gatehouse-roles'] = roles.map((role) => plain(role).replaceAll(',', '%2C')).join(',')
  return headers
}

/** Percent-encodes what isn't printable ASCII, and the percent sign itself. */
function plain(value: string): string {
  return value.toWellFormed().replaceAll(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent)
}
