import { createPrivateKey } from 'node:crypto'
import type { Clock } from '@gatehouse/kit'
import { importPKCS8, SignJWT } from 'jose'
import { type ClientAuth, ClientSecretBasic, ClientSecretPost, None, PrivateKeyJwt } from 'openid-client'
import type { Connection } from '../model/connection.ts'
import type { ConnectionSecrets } from './secrets.ts'

const appleAudience = 'https://appleid.apple.com'
const appleSecretSeconds = 300

/** How Gatehouse authenticates at the token endpoint of a connection's provider. */
export async function createClientAuthentication(
  { settings }: Connection,
  { client_secret: secret, private_key: pem }: ConnectionSecrets,
  clock: Clock,
): Promise<ClientAuth> {
  if (settings.kind === 'apple') return appleAuthentication(settings, await importPKCS8(pem ?? '', 'ES256'), clock)
  if (pem !== undefined) {
    const key = await importPKCS8(pem, signingAlgorithm(pem))
    return PrivateKeyJwt(settings.key_id === undefined ? key : { key, kid: settings.key_id })
  }
  if (secret === undefined) return None()
  const [post, basic] = [ClientSecretPost(secret), ClientSecretBasic(secret)]
  const method = settings.token_endpoint_auth_method
  return (server, ...rest) => {
    // Basic where the metadata lists nothing (OpenID Connect Discovery §3).
    const listed = server.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    const chosen = method ?? (listed || settings.kind === 'github' ? 'client_secret_post' : 'client_secret_basic')
    return chosen === 'client_secret_post' ? post(server, ...rest) : basic(server, ...rest)
  }
}

/** Apple's client secret is a JWT, made for each call (Sign in with Apple, "Creating a client secret"). */
function appleAuthentication(settings: Connection['settings'], key: CryptoKey, clock: Clock): ClientAuth {
  const { client_id, team_id = '', key_id = '', issuer = appleAudience } = settings
  return async (_server, _client, body) => {
    const now = Math.floor(clock.now() / 1000)
    const secret = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: key_id })
      .setIssuer(team_id)
      .setSubject(client_id)
      .setAudience(issuer)
      .setIssuedAt(now)
      .setExpirationTime(now + appleSecretSeconds)
      .sign(key)
    body.set('client_id', client_id)
    body.set('client_secret', secret)
  }
}

function signingAlgorithm(pem: string): string {
  const type = createPrivateKey(pem).asymmetricKeyType
  if (type === 'ec') return 'ES256'
  return type === 'ed25519' ? 'EdDSA' : 'RS256'
}
