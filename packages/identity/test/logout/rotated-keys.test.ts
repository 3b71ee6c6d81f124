import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { KeyRing, Secret, silentLog } from '@gatehouse/kit'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { type JwtType, signJwt } from '../../src/keys/sign-jwt.ts'
import { SigningKeys } from '../../src/keys/signing-keys.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { authorizeUrl, clients, getTokens, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { encryptionKey, type Running, setup } from '../support/setup.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const watcher = { client_id: 'watcher', client_secret: 'watcher-secret-0123456789', may_introspect: true }
const goHome = { post_logout_redirect_uri: 'https://app.example/bye', state: 'back' }

let running: Running
let browser: TestBrowser
let tokens: Record<string, string>
beforeEach(async () => {
  running = await setup({ declared: { clients: [...clients, watcher], users } })
  browser = new TestBrowser(running)
  tokens = await getTokens(running, { browser, scope: 'openid' })
})
afterEach(() => running.close())

const endSession = (more: Record<string, string>) =>
  browser.get(`/end_session?${new URLSearchParams({ id_token_hint: tokens.id_token ?? '', ...more })}`)

/** The error of a request without pages, undefined when it got a code. */
async function silentError(id_token_hint: string | undefined = tokens.id_token): Promise<string | undefined> {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'none', ...pkce() }
  return redirectParameters(await browser.get(authorizeUrl({ ...request, id_token_hint: id_token_hint ?? '' }))).error
}

/** Another key signs, and the old one is neither published nor stored. */
async function retireKey(afterMs = 2 * 60 * minuteMs): Promise<void> {
  await running.identity.management.rotateSigningKey('RS256')
  running.clock.advance(afterMs)
  await purge()
  const { kid } = decodeProtectedHeader(tokens.id_token ?? '')
  assert.ok(
    running.identity.keys().keys.every((key) => key.kid !== kid),
    'it is published no longer',
  )
}

async function purge(): Promise<void> {
  const store = postgresIdentityStore(running.database)
  await store.signingKeys.purge(running.clock.now())
  await store.purge.purge(running.clock.now(), 0, 500)
}

test('an ID token of the session signs its user out also once its key was rotated', async () => {
  await retireKey()
  assert.equal(await silentError(), undefined, 'the same user')
  const response = await endSession(goHome)
  assert.equal(response.headers.location, 'https://app.example/bye?state=back')
  assert.equal(await silentError(), 'login_required')
})

test('a retired key verifies hints as long as a session can last, and is then deleted', async () => {
  await retireKey()
  // By then the service may have rotated the next keys, too.
  const stored = async () => {
    const text = 'SELECT * FROM identity.retired_key WHERE kid = $1'
    return (await running.database.query(text, [decodeProtectedHeader(tokens.id_token ?? '').kid])).rows
  }
  const [row = {}] = await stored()
  assert.deepEqual(Object.keys(row), ['kid', 'alg', 'public_jwk', 'expires_at'])
  assert.ok(!JSON.stringify(row).includes('"d":'))
  running.clock.advance(90 * dayMs - 2 * 60 * minuteMs)
  await purge()
  assert.ok((await endSession({ client_id: 'web', ...goHome })).status < 400)
  const error = await browser.get(`/end_session?id_token_hint=${tokens.id_token}&client_id=spa`)
  assert.equal(error.status, 400, 'its claims are still believed: it names another client')
  running.clock.advance(2 * 60 * minuteMs)
  await purge()
  assert.deepEqual(await stored(), [])
})

test('a retired key lets nobody in', async () => {
  const keys = new SigningKeys({
    store: postgresIdentityStore(running.database).signingKeys,
    encryptionKey: KeyRing.of(new Secret(encryptionKey)),
    clock: running.clock,
    log: silentLog,
    algorithms: ['RS256'],
    ageMs: 90 * dayMs,
    maxTokenMs: 60 * minuteMs,
    maxSessionMs: 90 * dayMs,
  })
  await keys.refresh()
  const old = keys.getActive('RS256')
  /** A token that is as good as that of the session, but for its key. */
  const forge = (type: JwtType, token = '') => {
    const now = Math.floor(running.clock.now() / 1000)
    return signJwt(old, type, { ...decodeJwt(token), iat: now, exp: now + 600 })
  }
  const { client_id, client_secret } = watcher
  const isAccepted = async (token: string) => [
    (await running.post('/introspect', { token, client_id, client_secret })).body.active,
    (await running.http.inject({ url: '/userinfo', headers: { authorization: `Bearer ${token}` } })).statusCode,
  ]
  assert.deepEqual(await isAccepted(await forge('at+jwt', tokens.access_token)), [true, 200])
  await retireKey()
  assert.equal(await silentError(await forge('JWT', tokens.id_token)), undefined)
  assert.deepEqual(await isAccepted(await forge('at+jwt', tokens.access_token)), [false, 401])
})

for (const [what, more] of [
  ['that names its client', { client_id: 'web' }],
  ['that names no client', {}],
] as const) {
  test(`after a compromise a logout ${what} asks the user, and signs out`, async () => {
    await running.identity.management.rotateSigningKey('RS256', true)
    const page = await endSession({ ...more, ...goHome })
    assert.match(page.text, /Sign out\?/)
    const response = await browser.submit(page, { decision: 'leave' })
    const expected = 'client_id' in more ? 'https://app.example/bye?state=back' : undefined
    assert.equal(response.headers.location, expected, 'only the named client is believed')
    assert.equal(response.status < 400, true)
    assert.equal(await silentError(), 'login_required')
  })
}

test('a hint that was signed with a compromised key identifies nobody', async () => {
  await retireKey()
  await running.identity.management.rotateSigningKey('RS256', true)
  const page = await endSession({ client_id: 'web' })
  assert.match(page.text, /Sign out\?/, 'also a retired key of the algorithm')
  assert.equal(await silentError(), 'login_required')
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }
  const shown = await browser.get(authorizeUrl({ ...request, id_token_hint: tokens.id_token ?? '' }))
  assert.ok(redirectParameters(shown).code, 'with pages allowed it counts as absent')
})

test('a hint of nobody’s making is refused, whatever key it names', async () => {
  const [header = '', payload = '', signature = ''] = (tokens.id_token ?? '').split('.')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  await retireKey()
  for (const forged of [
    `${header}.${payload}.${signature.slice(0, -8)}AAAAAAAA`,
    `${header}.${part({ ...decodeJwt(tokens.id_token ?? ''), sub: 'bob' })}.${signature}`,
    `${part({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    `${part({ alg: 'RS256', typ: 'JWT', kid: 'unknown' })}.${part({ iss: 'https://evil.example' })}.${signature}`,
    `${part({ alg: 'RS256', typ: 'JWT', kid: 7 })}.${payload}.${signature}`,
    `${part({ alg: 'RS256', typ: 'JWT', kid: '\0' })}.${part({ iss: 'https://evil.example' })}.${signature}`,
    'x'.repeat(9_000),
  ]) {
    const response = await browser.get(`/end_session?${new URLSearchParams({ id_token_hint: forged })}`)
    assert.equal(response.status, 400, forged)
    assert.equal(await silentError(forged), 'invalid_request')
  }
  assert.equal(await silentError(), undefined, 'the session goes on')
})
