/** What the operator learns of clients that did not prove who they are, and what those are told. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog } from '@gatehouse/kit'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { AuditBudget } from '../src/clients/failure-budget.ts'
import { postgresIdentityStore } from '../src/postgres/index.ts'
import { issuer, type Running, setup } from './setup.ts'

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

async function assertion(claims: JWTPayload = {}, header: object = { alg: 'ES256', kid: 'one' }, key: CryptoKey = own) {
  const payload = { iss: 'signer', sub: 'signer', aud: issuer, iat: now(), exp: now() + 60, jti: `j${++serial}` }
  const jwt = new SignJWT({ ...payload, ...claims }).setProtectedHeader(header as { alg: string })
  return presented(await jwt.sign(key))
}

const presented = (client_assertion: string) => ({
  client_assertion,
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
})

const ask = (credentials: Record<string, string>) =>
  running.post('/token', { grant_type: 'client_credentials', ...credentials })

const recorded = () =>
  postgresIdentityStore(running.database).audit.list({ type: 'client_authentication_failed', limit: 1_000 })

type Credentials = () => Promise<Record<string, string>> | Record<string, string>

const older = { iss: 'older', sub: 'older' }
const refusals: readonly (readonly [check: string, credentials: Credentials, client?: string])[] = [
  ['audience', () => assertion({ aud: `${issuer}/token` })],
  ['expired', () => assertion({ exp: now() - 60 })],
  ['expired', () => assertion({ ...older, iat: now() - 400, exp: now() + 3000 }), 'older'],
  ['lifetime', () => assertion({ exp: now() + 600 })],
  ['not_yet_valid', () => assertion({ nbf: now() + 60 })],
  ['claim', () => assertion({ jti: undefined as never })],
  ['claim', () => assertion({ jti: 7 as never })],
  ['issuer', () => assertion({ iss: 'shop' })],
  ['subject', async () => ({ ...(await assertion({ sub: 'shop' })), client_id: 'signer' })],
  ['signature', () => assertion({}, { alg: 'ES256', kid: 'one' }, other)],
  ['key', () => assertion({}, { alg: 'ES256', kid: 'two' })],
  ['algorithm', () => assertion({}, { alg: 'PS512', kid: 'one' }, pss)],
  ['format', () => ({ ...presented('no.jwt.here'), client_id: 'signer' })],
  ['format', () => ({ ...presented('x'.repeat(9_000)), client_id: 'signer' })],
  ['jwks_uri', () => assertion({ iss: 'unreachable', sub: 'unreachable' }), 'unreachable'],
  ['method', () => ({ client_id: 'signer', client_secret: 'a secret' })],
  ['secret', () => ({ client_id: 'shop', client_secret: 'wrong' }), 'shop'],
  ['client', () => ({ client_id: 'nobody', client_secret: 'wrong' }), ''],
  ['client', () => presented('no.jwt.here'), ''],
  ['client', () => assertion({ sub: 'no\u0000body' }), ''],
  ['client', () => assertion({ sub: 7 as never }), ''],
]

test('the check that a client failed is in the log and the audit trail, and the answer is always the same', async () => {
  const answers = new Set<string>()
  for (const [check, credentials, client = 'signer'] of refusals) {
    running.clock.advance(60_000)
    lines.length = 0
    const answer = await ask(await credentials())
    assert.equal(answer.status, 401, check)
    answers.add(answer.text)
    const [line] = lines
    assert.deepEqual([line?.msg, line?.check, line?.endpoint], ['client authentication failed', check, '/token'])
    const event = (await recorded()).at(-1)
    assert.deepEqual([event?.details.check, event?.details.detail], [check, line?.detail])
    assert.equal(event?.clientId ?? '', client, check)
  }
  assert.equal(answers.size, 1)
})

test('a replayed assertion is told from one that is used for the first time', async () => {
  running.clock.advance(60_000)
  const once = await assertion()
  assert.equal((await ask(once)).status, 200)
  assert.equal((await ask(once)).status, 401)
  assert.equal((await recorded()).at(-1)?.details.check, 'replayed')
})

test('what was expected of an assertion is in the record, with what it had instead', async () => {
  running.clock.advance(60_000)
  await ask(await assertion({ aud: 'https://other.example' }))
  const detail = (await recorded()).at(-1)?.details.detail
  assert.equal(detail, `aud is 'https://other.example', expected is ${issuer}`)
})

test('a flood of refusals fills neither the audit trail nor hides another client in it', async () => {
  running.clock.advance(60_000)
  const count = (await recorded()).length
  for (let n = 0; n < 30; n++) await ask({ client_id: 'shop', client_secret: `guess ${n}` })
  for (let n = 0; n < 30; n++) await ask({ client_id: `made up ${n}`, client_secret: 'guess' })
  await ask({ client_id: 'signer', client_secret: 'guess' })
  const added = (await recorded()).slice(count)
  assert.deepEqual(
    added.map(({ clientId, details }) => [clientId, details.check, details.left_out_before]),
    [
      ['shop', 'secret', undefined],
      [undefined, 'client', 29],
      ['signer', 'method', 29],
    ],
  )
})

test('all clients together get so many events a minute, and the rest is counted', () => {
  const budget = new AuditBudget()
  const refuse = (n: number, at: number) =>
    budget.admit({ clientId: `c${n}`, method: 'none', fault: { check: 'secret', detail: '' } }, at)
  const admitted = Array.from({ length: 200 }, (_, n) => refuse(n, 0)).filter((one) => one !== undefined)
  assert.equal(admitted.length, 60)
  assert.equal(refuse(0, 59_999), undefined)
  assert.equal(refuse(0, 60_000), 141)
  assert.equal(refuse(1, 60_000), 0)
})
