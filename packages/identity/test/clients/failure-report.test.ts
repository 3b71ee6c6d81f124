/** What the operator learns about failed client authentication, and what the client learns. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog } from '@gatehouse/kit'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { AuditBudget } from '../../src/clients/failure-budget.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { issuer, type Running, setup } from '../support/setup.ts'

const lines: Record<string, unknown>[] = []
let running: Running
let own: CryptoKey
let other: CryptoKey
let pss: CryptoKey
before(async () => {
  const pair = await generateKeyPair('ES256')
  own = pair.privateKey
  other = (await generateKeyPair('ES256')).privateKey
  pss = (await generateKeyPair('PS512')).privateKey
  const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256' }
  const keyed = { token_endpoint_auth_method: 'private_key_jwt' as const, scopes: ['read:users'] }
  running = await setup({
    declared: {
      clients: [
        { client_id: 'signer', ...keyed, jwks: { keys: [jwk] } },
        { client_id: 'older', ...keyed, jwks: { keys: [jwk] }, assertion_audience: 'endpoint' },
        { client_id: 'unreachable', ...keyed, jwks_uri: 'https://127.0.0.1:1/jwks' },
        { client_id: 'shop', client_secret: 'a secret of many characters' },
      ],
    },
    log: createLog('warn', { write: (line) => void lines.push(JSON.parse(line)) }),
  })
})
after(() => running.close())

let serial = 0
const now = () => Math.floor(running.clock.now() / 1000)

async function signAssertion(
  claims: JWTPayload = {},
  header: object = { alg: 'ES256', kid: 'one' },
  key: CryptoKey = own,
) {
  const payload = { iss: 'signer', sub: 'signer', aud: issuer, iat: now(), exp: now() + 60, jti: `j${++serial}` }
  const jwt = new SignJWT({ ...payload, ...claims }).setProtectedHeader(header as { alg: string })
  return presentAssertion(await jwt.sign(key))
}

const presentAssertion = (client_assertion: string) => ({
  client_assertion,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
})

const ask = (credentials: Record<string, string>) =>
  running.post('/token', { grant_type: 'client_credentials', ...credentials })

const listFailures = () =>
  postgresIdentityStore(running.database).audit.list({ type: 'client_authentication_failed', limit: 1_000 })

type Credentials = () => Promise<Record<string, string>> | Record<string, string>

const older = { iss: 'older', sub: 'older' }
const refusals: readonly (readonly [check: string, credentials: Credentials, client?: string])[] = [
  ['audience', () => signAssertion({ aud: `${issuer}/token` })],
  ['expired', () => signAssertion({ exp: now() - 60 })],
  ['expired', () => signAssertion({ ...older, iat: now() - 400, exp: now() + 3000 }), 'older'],
  ['lifetime', () => signAssertion({ exp: now() + 600 })],
  ['not_yet_valid', () => signAssertion({ nbf: now() + 60 })],
  ['claim', () => signAssertion({ jti: undefined as never })],
  ['claim', () => signAssertion({ jti: 7 as never })],
  ['issuer', () => signAssertion({ iss: 'shop' })],
  ['subject', async () => ({ ...(await signAssertion({ sub: 'shop' })), client_id: 'signer' })],
  ['signature', () => signAssertion({}, { alg: 'ES256', kid: 'one' }, other)],
  ['key', () => signAssertion({}, { alg: 'ES256', kid: 'two' })],
  ['algorithm', () => signAssertion({}, { alg: 'PS512', kid: 'one' }, pss)],
  ['format', () => ({ ...presentAssertion('no.jwt.here'), client_id: 'signer' })],
  ['format', () => ({ ...presentAssertion('x'.repeat(9_000)), client_id: 'signer' })],
  ['jwks_uri', () => signAssertion({ iss: 'unreachable', sub: 'unreachable' }), 'unreachable'],
  ['method', () => ({ client_id: 'signer', client_secret: 'a secret' })],
  ['secret', () => ({ client_id: 'shop', client_secret: 'wrong' }), 'shop'],
  ['client', () => ({ client_id: 'nobody', client_secret: 'wrong' }), ''],
  ['client', () => presentAssertion('no.jwt.here'), ''],
  ['client', () => signAssertion({ sub: 'no\u0000body' }), ''],
  ['client', () => signAssertion({ sub: 7 as never }), ''],
]

test('a failed check is logged and recorded, and the client always gets the same response', async () => {
  const responses = new Set<string>()
  for (const [check, credentials, client = 'signer'] of refusals) {
    running.clock.advance(60_000)
    lines.length = 0
    const response = await ask(await credentials())
    assert.equal(response.status, 401, check)
    responses.add(response.text)
    const [line] = lines
    assert.deepEqual([line?.msg, line?.check, line?.endpoint], ['client authentication failed', check, '/token'])
    const event = (await listFailures()).at(-1)
    assert.deepEqual([event?.details.check, event?.details.detail], [check, line?.detail])
    assert.equal(event?.clientId ?? '', client, check)
  }
  assert.equal(responses.size, 1)
})

test('a replayed assertion is recorded as replayed', async () => {
  running.clock.advance(60_000)
  const once = await signAssertion()
  assert.equal((await ask(once)).status, 200)
  assert.equal((await ask(once)).status, 401)
  assert.equal((await listFailures()).at(-1)?.details.check, 'replayed')
})

test('an audit event names what was expected of an assertion and what it had', async () => {
  running.clock.advance(60_000)
  await ask(await signAssertion({ aud: 'https://other.example' }))
  const detail = (await listFailures()).at(-1)?.details.detail
  assert.equal(detail, `aud is 'https://other.example', expected ${issuer}`)
})

test('a flood of failures neither fills the audit trail nor hides another client in it', async () => {
  running.clock.advance(60_000)
  const count = (await listFailures()).length
  for (let n = 0; n < 30; n++) await ask({ client_id: 'shop', client_secret: `guess ${n}` })
  for (let n = 0; n < 30; n++) await ask({ client_id: `made up ${n}`, client_secret: 'guess' })
  await ask({ client_id: 'signer', client_secret: 'guess' })
  const added = (await listFailures()).slice(count)
  assert.deepEqual(
    added.map(({ clientId, details }) => [clientId, details.check, details.left_out_before]),
    [
      ['shop', 'secret', undefined],
      [undefined, 'client', 29],
      ['signer', 'method', 29],
    ],
  )
})

test('all clients together get a limited number of events per minute, and the rest is counted', () => {
  const budget = new AuditBudget()
  const refuse = (n: number, at: number) =>
    budget.admit({ clientId: `c${n}`, method: 'none', fault: { check: 'secret', detail: '' } }, at)
  const admitted = Array.from({ length: 200 }, (_, n) => refuse(n, 0)).filter((one) => one !== undefined)
  assert.equal(admitted.length, 60)
  assert.equal(refuse(0, 59_999), undefined)
  assert.equal(refuse(0, 60_000), 141)
  assert.equal(refuse(1, 60_000), 0)
})
