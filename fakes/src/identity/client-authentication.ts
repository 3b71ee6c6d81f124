import { createPublicKey } from 'node:crypto'
import type { FakeRequest } from '../server/http-server.ts'
import { readJwt } from '../server/jwt.ts'

/** The client that is registered at a provider, and how it authenticates. */
export interface ClientCredentials {
  readonly id: string
  readonly method: 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | 'none'
  readonly secret?: string
  /** PEM: of private_key_jwt, or of Apple's client secret with `teamId` and `keyId`. */
  readonly publicKey?: string
  readonly teamId?: string
  readonly keyId?: string
}

/** Where the client authenticates, and of which issuer. */
interface TokenEndpoint {
  readonly endpoint: string
  readonly issuer: string
}

/** Apple's longest lifetime of a client secret, in seconds. */
const maxAppleSeconds = 15_777_000

/** Why the request does not authenticate the client; undefined when it does. */
export function findClientFault(
  client: ClientCredentials,
  { headers }: FakeRequest,
  form: URLSearchParams,
  place: TokenEndpoint,
): string | undefined {
  if (client.method === 'client_secret_basic') {
    const sent = Buffer.from(/^Basic (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '', 'base64').toString()
    // Both are form-encoded first (RFC 6749 §2.3.1).
    const [id, secret] = sent.split(':').map((part) => decodeURIComponent(part.replaceAll('+', ' ')))
    return id === client.id && secret === client.secret ? undefined : 'the Authorization header is wrong'
  }
  if (client.method === 'private_key_jwt') return findAssertionFault(client, form, place)
  if (form.get('client_id') !== client.id) return 'client_id is wrong'
  if (client.teamId !== undefined) return findAppleFault(client, form.get('client_secret') ?? '', place.issuer)
  return form.get('client_secret') === (client.secret ?? null) ? undefined : 'client_secret is wrong'
}

function findAssertionFault(
  client: ClientCredentials,
  form: URLSearchParams,
  { endpoint, issuer }: TokenEndpoint,
): string | undefined {
  const key = createPublicKey(client.publicKey ?? '')
  const claims = readJwt(form.get('client_assertion') ?? '', 'ES256', key)?.claims
  if (claims === undefined) return 'the signature of client_assertion is wrong'
  if (claims.sub !== client.id || claims.iss !== client.id) return 'iss and sub must be the client id'
  const audiences = [claims.aud].flat()
  if (!audiences.includes(issuer) && !audiences.includes(endpoint)) return 'aud is wrong'
  return Number(claims.exp) * 1000 > Date.now() ? undefined : 'the assertion has expired'
}

function findAppleFault(client: ClientCredentials, secret: string, issuer: string): string | undefined {
  const jwt = readJwt(secret, 'ES256', createPublicKey(client.publicKey ?? ''))
  if (jwt === undefined) return 'the signature of client_secret is wrong'
  const { iss, sub, aud, iat, exp } = jwt.claims
  if (jwt.header.kid !== client.keyId) return 'kid is wrong'
  if (iss !== client.teamId || sub !== client.id || aud !== issuer) return 'iss, sub or aud is wrong'
  const now = Date.now() / 1000
  const isCurrent = Number(iat) <= now + 60 && Number(exp) > now && Number(exp) - Number(iat) <= maxAppleSeconds
  return isCurrent ? undefined : 'iat or exp is wrong'
}
