import type { Caller } from '../model/caller.ts'

const told = new WeakMap<Caller, Readonly<Record<string, string>>>()

/** What upstreams are told about the caller. What is not printable ASCII is percent-encoded. */
export function callerHeaders(caller: Caller): Readonly<Record<string, string>> {
  const known = told.get(caller)
  if (known) return known
  const headers = headersOf(caller)
  told.set(caller, headers)
  return headers
}

function headersOf({ kind, subject, clientId, keyId, scopes, roles }: Caller): Record<string, string> {
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
