import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { signingAlgorithms } from '../../src/model/client.ts'
import { clients, getTokens, users, webSecret } from '../support/journey.ts'
import { issuer, type Running, setup } from '../support/setup.ts'

const machine = (client_id: string, more: object = {}) => ({
  client_id,
  client_secret: 'machine-secret-0123456789',
  scopes: ['read:users'],
  ...more,
})

const resource = 'https://photos.example'
let running: Running
before(async () => {
  running = await setup({
    accessTokenAlgorithm: 'RS256',
    declared: {
      clients: [
        ...clients,
        machine('default'),
        ...signingAlgorithms.map((alg) =>
          machine(alg, { access_token_signed_response_alg: alg, resources: [resource] }),
        ),
      ],
      users,
      resources: [{ id: resource, access_token_signed_response_alg: 'EdDSA' }],
    },
  })
})
after(() => running.close())

async function tokenOf(client_id: string, more: Record<string, string> = {}): Promise<string> {
  const credentials = { client_id, client_secret: 'machine-secret-0123456789' }
  const response = await running.post('/token', { grant_type: 'client_credentials', ...credentials, ...more })
  assert.equal(response.status, 200, response.text)
  return String(response.body.access_token)
}

async function jwks() {
  const { keys } = (await running.http.inject('/.well-known/jwks.json')).json() as { keys: Record<string, string>[] }
  return keys
}

for (const alg of signingAlgorithms) {
  test(`a client that registers ${alg} gets access tokens signed with it`, async () => {
    const token = await tokenOf(alg)
    const set = createLocalJWKSet({ keys: (await jwks()) as never })
    const { protectedHeader, payload } = await jwtVerify(token, set, {
      algorithms: [alg],
      typ: 'at+jwt',
      issuer,
      currentDate: new Date(running.clock.now()),
    })
    assert.deepEqual([protectedHeader.alg, payload.client_id], [alg, alg])
    const introspected = await running.post('/introspect', {
      token,
      client_id: alg,
      client_secret: 'machine-secret-0123456789',
    })
    assert.equal(introspected.body.active, true)
  })
}

test('the algorithm of the resource precedes that of the client, and that the default', async () => {
  assert.equal(decodeProtectedHeader(await tokenOf('PS256', { resource })).alg, 'EdDSA')
  assert.equal(decodeProtectedHeader(await tokenOf('PS256')).alg, 'PS256')
  assert.equal(decodeProtectedHeader(await tokenOf('default')).alg, 'RS256')
})

test('every key of the JWK Set has its own id and names one algorithm', async () => {
  const keys = await jwks()
  assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length)
  assert.deepEqual(new Set(keys.map(({ alg }) => alg)), new Set(signingAlgorithms))
  for (const key of keys) assert.ok(!('d' in key) && key.use === 'sig')
})

test('a signature of one RSA algorithm is rejected under the other, whatever the key id', async () => {
  const [header = '', payload = ''] = (await tokenOf('RS256')).split('.')
  const [, , signature] = (await tokenOf('PS256')).split('.')
  const { kid } = decodeProtectedHeader(await tokenOf('PS256'))
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const forged of [
    header,
    part({ alg: 'RS256', typ: 'at+jwt', kid }),
    part({ alg: 'PS256', typ: 'at+jwt', kid }),
  ]) {
    const response = await running.post('/introspect', {
      token: `${forged}.${payload}.${signature}`,
      client_id: 'RS256',
      client_secret: 'machine-secret-0123456789',
    })
    assert.deepEqual(response.body, { active: false })
  }
})

test('concurrent first tokens of a new algorithm create one key', async () => {
  const fresh = await setup()
  const declared = { ...machine('late'), access_token_signed_response_alg: 'EdDSA' as const }
  await fresh.identity.management.createClient(declared)
  const { client_id, client_secret } = declared
  const ask = () => fresh.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
  const responses = await Promise.all(Array.from({ length: 10 }, ask))
  const kids = new Set(responses.map(({ body }) => decodeProtectedHeader(String(body.access_token)).kid))
  assert.equal(kids.size, 1)
  assert.equal(fresh.identity.keys().keys.filter(({ alg }) => alg === 'EdDSA').length, 1)
  await fresh.close()
})

test('an ID token is signed with its client’s algorithm and accepted as a hint', async () => {
  await running.identity.management.updateClient('web', { id_token_signed_response_alg: 'PS256' })
  running.clock.advance(3_000)
  const { id_token = '' } = await getTokens(running)
  assert.equal(decodeProtectedHeader(id_token).alg, 'PS256')
  const page = await running.http.inject(`/end_session?${new URLSearchParams({ id_token_hint: id_token })}`)
  assert.equal(page.statusCode, 200)
  assert.equal(webSecret.client_id, 'web')
})
