import type { TokenType } from '@gatehouse/bearer'
import { isManagementScope } from '@gatehouse/identity'
import { isLoopback } from '../loopback.ts'
import type { EnvironmentReader } from './reader.ts'
import type { Service } from './services.ts'

/** An issuer that is not ours (ISSUER), and what its access tokens look like. */
export interface ForeignIssuer {
  /** To the letter as its tokens have it in `iss`. */
  readonly url: string
  /** What `aud` must name one of. */
  readonly audiences: readonly string[]
  readonly tokenTypes: readonly TokenType[]
  /** Its classes of sign-in (acr), the weakest first; one that is not listed is met by itself alone. */
  readonly acrOrder: readonly string[]
}

/** Reads the issuer that is not ours, and checks that nothing else names one of ours. */
export function readIssuer(
  read: EnvironmentReader,
  services: ReadonlySet<Service>,
  baseUrl: string,
): ForeignIssuer | undefined {
  const url = read.text('ISSUER')
  const audiences = read.list('ISSUER_AUDIENCE') ?? [baseUrl]
  const tokenTypes = readTokenTypes(read)
  if (url === undefined) {
    for (const name of ['ISSUER_AUDIENCE', 'ISSUER_TOKEN_TYPES', 'ISSUER_ACR_VALUES', 'ISSUER_ADMIN_SCOPES'])
      if (read.someOf(name)) read.fault(name, 'must be set together with ISSUER')
    return undefined
  }
  const parsed = read.url('ISSUER')
  if (parsed?.startsWith('http:') && !isLoopback(new URL(parsed).hostname))
    read.fault('ISSUER', `must be https, except on this machine, not ${JSON.stringify(url)}`)
  if (services.has('identity')) read.fault('ISSUER', 'must not be set where identity runs (SERVICES): it is the issuer')
  for (const name of ['AUTH_URL', 'IDENTITY_URL', 'SERVICE_CLIENT_ID'])
    if (read.someOf(name)) read.fault(name, 'must not be set with ISSUER: there is no identity of ours')
  return { url, audiences, tokenTypes, acrOrder: read.list('ISSUER_ACR_VALUES') ?? [] }
}

/** Reads which scopes of management the users of that issuer may hold. */
export function readIssuerAdminScopes(read: EnvironmentReader): readonly string[] {
  const scopes = read.list('ISSUER_ADMIN_SCOPES') ?? []
  for (const scope of scopes.filter((each) => !isManagementScope(each)))
    read.fault(
      'ISSUER_ADMIN_SCOPES',
      `must name scopes of management such as admin:notifications, not ${JSON.stringify(scope)}; others need no mention`,
    )
  return scopes
}

function readTokenTypes(read: EnvironmentReader): readonly TokenType[] {
  const types = read.list('ISSUER_TOKEN_TYPES') ?? ['at+jwt']
  const known = types.filter((type) => type === 'at+jwt' || type === 'JWT')
  if (known.length === types.length && known.length > 0) return known
  read.fault('ISSUER_TOKEN_TYPES', `must be at+jwt, JWT or both, not ${JSON.stringify(types.join(','))}`)
  return ['at+jwt']
}
