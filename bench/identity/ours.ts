import { createHash, randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createIdentity } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import { createHttp, createMetrics, type Http, openPostgres, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { audience, client, report, scope, startOf, web } from './protocol.ts'

const issuer = 'http://localhost'
const { database: url = '', algorithm = 'ES256', families, providers = 0 } = startOf()
const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 16 })
await migrateIdentity(database)
const identity = await createIdentity({
  store: postgresIdentityStore(database),
  issuer,
  baseUrl: issuer,
  apiIdentifier: audience,
  accessTokenAlgorithm: algorithm,
  encryptionKey: new Secret('0123456789abcdef0123456789abcdef'),
  declared: {
    clients: [
      { client_id: client.id, client_secret: client.secret, scopes: [scope] },
      {
        client_id: web.id,
        client_secret: web.secret,
        redirect_uris: [web.callback],
        skip_consent: true,
        scopes: ['offline_access', scope],
      },
    ],
    users: [{ id: 'alice', password: 'correct horse battery' }],
    connections: Array.from({ length: providers }, (_, n) => ({
      id: `provider-${n}`,
      name: `Provider ${n}`,
      kind: 'oidc',
      issuer: `https://provider-${n}.example`,
      client_id: 'gatehouse',
      client_secret: 'provider-secret-0123456789',
    })),
  },
  authenticate: () => {
    throw new Error('nothing is called with a bearer here')
  },
  clock: systemClock,
  log: silentLog,
  metrics: createMetrics(),
})
const http = createHttp({ log: silentLog })
await http.register(identity.plugin)
const refreshTokens = families > 0 ? await signIn(http) : []
await http.listen({ port: 0, host: '127.0.0.1' })
report({ url: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}`, refreshTokens })

/** Signs alice in once, and gets a refresh token for as many devices as are asked for. */
async function signIn(http: Http): Promise<string[]> {
  const code_verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const query = { client_id: web.id, scope: `offline_access ${scope}`, code_challenge }
  const address = `/authorize?${new URLSearchParams(query)}`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const page = await http.inject(address)
  const cookies = new Map(page.cookies.map(({ name, value }) => [name, value]))
  const jar = () => ({ cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') })
  // The form of the password is the first: other ways to sign in have forms of their own.
  const [passwordForm = ''] = page.payload.split('</form>')
  const hidden = [...passwordForm.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const login = new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value]))
  login.set('username', 'alice')
  login.set('password', 'correct horse battery')
  const signedIn = await http.inject({
    method: 'POST',
    url: '/login',
    payload: login.toString(),
    headers: { ...form, ...jar() },
  })
  for (const { name, value } of signedIn.cookies) cookies.set(name, value)
  const tokens: string[] = []
  for (let n = 0; n < families; n++) {
    const answer = await http.inject({ url: address, headers: jar() })
    const code = new URL(String(answer.headers.location)).searchParams.get('code') ?? ''
    const exchange = new URLSearchParams({ code, code_verifier, client_id: web.id, client_secret: web.secret })
    const { refresh_token } = (
      await http.inject({ method: 'POST', url: '/token', payload: exchange.toString(), headers: form })
    ).json()
    tokens.push(refresh_token)
  }
  return tokens
}
