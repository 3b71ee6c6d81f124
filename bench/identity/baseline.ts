import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'
import { audience, client, report, scope, startOf, web } from './protocol.ts'

const { families } = startOf()
const keys = await Promise.all(
  (['ES256', 'RS256'] as const).map(async (alg) => {
    const { privateKey } = await generateKeyPair(alg, { extractable: true })
    return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid: alg }
  }),
)
const provider = new Provider('http://localhost', {
  jwks: { keys },
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: web.id,
      client_secret: web.secret,
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [web.callback],
    },
  ],
  scopes: ['openid', 'offline_access', scope],
  findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  rotateRefreshToken: () => true,
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope,
        audience,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 900,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
})

provider.on('grant.error', (_context, error) => console.error('the peer refused:', error.error_detail ?? error.message))
const refreshTokens: string[] = []
for (let n = 0; n < families; n++) {
  const registered = await provider.Client.find(web.id)
  if (registered === undefined) throw new Error('the client is not there')
  const grant = new provider.Grant({ accountId: 'alice', clientId: web.id })
  grant.addOIDCScope('offline_access')
  grant.addResourceScope(audience, scope)
  const grantId = await grant.save()
  const token = new provider.RefreshToken({
    accountId: 'alice',
    client: registered,
    grantId,
    gty: 'authorization_code',
    scope: `offline_access ${scope}`,
    resource: audience,
  })
  refreshTokens.push(await token.save())
}
const server = provider.listen(0, '127.0.0.1', () => {
  report({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, refreshTokens })
})
