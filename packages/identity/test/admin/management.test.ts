import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { memoryDatabase } from '@gatehouse/testing'
import { adminScopes, type GoneRecipient, type Recipient } from '../../src/index.ts'
import { migrateIdentity } from '../../src/postgres/index.ts'
import { clients, getTokens, TestBrowser, users, webSecret } from '../support/journey.ts'
import { type Running, responseOf, service, setup } from '../support/setup.ts'

let running: Running
let token: string
const recipients: (Recipient | GoneRecipient)[] = []
const operator = {
  client_id: 'operator',
  client_secret: 'operator-secret-0123',
  scopes: [...Object.values(adminScopes), 'admin:notifications', 'admin:privacy'],
}

before(async () => {
  const internal = { ...service, client_id: 'internal', scopes: ['read:api-keys', 'read:revocations'] }
  running = await setup({
    declared: { clients: [...clients, service, internal, operator, { ...service, client_id: 'built-in' }], users },
    builtInClients: ['built-in'],
    onRecipient: async (recipient) => {
      recipients.push(recipient)
    },
  })
  const { scopes: _, ...credentials } = operator
  token = String((await running.post('/token', { grant_type: 'client_credentials', ...credentials })).body.access_token)
})
after(() => running.close())

async function call(
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
  bearer = token,
) {
  const headers = { authorization: `Bearer ${bearer}` }
  return responseOf(await running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) }))
}

const refreshWith = (refresh_token = '') =>
  running.post('/token', { grant_type: 'refresh_token', refresh_token, ...webSecret })

test('a client is registered, changed and deleted, and its secret is shown once', async () => {
  const made = await call('POST', '/admin/v1/clients', { client_id: 'new', scopes: ['read:users'] })
  assert.equal(made.status, 201)
  const client_secret = String(made.body.client_secret)
  assert.ok(!('client_secret' in (await call('GET', '/admin/v1/clients/new')).body))
  const form = { grant_type: 'client_credentials', client_id: 'new' }
  assert.equal((await running.post('/token', { ...form, client_secret })).status, 200)
  const renewed = await call('POST', '/admin/v1/clients/new/secret', {})
  assert.equal((await running.post('/token', { ...form, client_secret })).status, 401)
  assert.equal(
    (await running.post('/token', { ...form, client_secret: String(renewed.body.client_secret) })).status,
    200,
  )
  const changed = await call('PATCH', '/admin/v1/clients/new', { scopes: [], plan: 'pro' })
  assert.deepEqual([changed.body.scopes, changed.body.plan], [[], 'pro'])
  assert.deepEqual(await running.identity.planOf('new'), { plan: 'pro' })
  assert.equal((await call('POST', '/admin/v1/clients', { client_id: 'new' })).status, 409)
  assert.equal((await call('POST', '/admin/v1/clients', { client_id: 'alice' })).status, 409)
  assert.equal((await call('DELETE', '/admin/v1/clients/new')).status, 204)
  assert.equal((await call('GET', '/admin/v1/clients/new')).status, 404)
  const feed = await running.identity.revocations(undefined)
  assert.ok(feed.revocations.some((one) => 'client' in one && one.client === 'new'))
})

test('a built-in client keeps its secret and cannot be deleted', async () => {
  const form = { grant_type: 'client_credentials', client_id: 'built-in', client_secret: service.client_secret }
  const [id, { management }] = ['built-in', running.identity]
  for (const [method, path] of [
    ['POST', '/secret'],
    ['DELETE', ''],
  ] as const) {
    const refused = await call(method, `/admin/v1/clients/${id}${path}`, method === 'POST' ? {} : undefined)
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.text, /Administrators sign in with the client built-in/)
  }
  await assert.rejects(management.rotateSecret(id), /Administrators sign in/)
  await assert.rejects(management.deleteClient(id), /Administrators sign in/)
  assert.equal((await running.post('/token', form)).status, 200)
})

test('redirect URIs that could be abused are rejected at registration', async () => {
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'http://app.example/callback',
    'https://app.example/#fragment',
    'https://user@app.example/',
    'https://*.app.example/',
    'https://app.example/a/../b',
    'https://app.example/a%2Fb',
    'callback',
  ]) {
    const refused = await call('POST', '/admin/v1/clients', { client_id: 'bad', redirect_uris: [uri] })
    assert.equal(refused.status, 422, uri)
  }
})

test('a public client is rejected with the client credentials grant', async () => {
  const client = { client_id: 'bad', token_endpoint_auth_method: 'none', grant_types: ['client_credentials'] }
  assert.equal((await call('POST', '/admin/v1/clients', client)).status, 422)
})

test('locking a user ends their tokens and sessions at once and blocks sign-in', async () => {
  const browser = new TestBrowser(running)
  const tokens = await getTokens(running, { browser })
  assert.equal((await call('PATCH', '/admin/v1/users/alice', { locked: true })).body.locked, true)
  assert.equal((await refreshWith(tokens.refresh_token)).body.error, 'invalid_grant')
  const introspected = await running.post('/introspect', { token: tokens.access_token ?? '', ...webSecret })
  assert.deepEqual(introspected.body, { active: false })
  const login = await browser.get('/account')
  assert.match(login.text, /action="\/login"/)
  assert.equal((await browser.signIn(login)).status, 401)
  await call('PATCH', '/admin/v1/users/alice', { locked: false })
  assert.match((await browser.signIn(login)).text, /Your account/)
})

test('a user is created, changed and deleted', async () => {
  const made = await call('POST', '/admin/v1/users', { id: 'dora', email: 'dora@example.com' })
  assert.equal(made.status, 201)
  assert.ok(String(made.body.password).length >= 12)
  assert.equal((await call('POST', '/admin/v1/users', { id: 'dora' })).status, 409)
  assert.equal((await call('POST', '/admin/v1/users', { id: 'dora2', email: 'DORA@example.com' })).status, 409)
  const changed = await call('PATCH', '/admin/v1/users/dora', { plan: 'pro', claims: { locale: 'fr' } })
  assert.deepEqual([changed.body.plan, changed.body.email], ['pro', 'dora@example.com'])
  assert.equal((await call('PUT', '/admin/v1/users/dora/password', { password: 'short' })).status, 400)
  assert.equal((await call('PUT', '/admin/v1/users/dora/password', { password: 'long enough' })).status, 204)
  assert.equal((await call('DELETE', '/admin/v1/users/dora')).status, 204)
  assert.equal((await call('GET', '/admin/v1/users/dora')).status, 404)
})

test('a merge patch changes single claims, removes null ones, and JSON replaces them all', async () => {
  const address = { locality: 'Ghent', country: 'BE' }
  await call('POST', '/admin/v1/users', { id: 'edna', claims: { name: 'Edna', nickname: 'Ed', address } })
  const patch = async (type: string, payload: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const url = '/admin/v1/users/edna'
    return responseOf(await running.http.inject({ method: 'PATCH', url, headers, payload: JSON.stringify(payload) }))
  }
  const merging = 'application/merge-patch+json; charset=utf-8'
  const claims = { nickname: null, locale: 'nl', address: { locality: null } }
  const changed = await patch(merging, { claims })
  const claimsNow = async () => (await running.identity.management.listUsers('edmund', 1))[0]?.claims
  assert.equal(changed.status, 200)
  const left = { name: 'Edna', locale: 'nl', address: { country: 'BE' } }
  assert.deepEqual(await claimsNow(), left)
  for (const type of [merging, 'application/json']) await patch(type, { plan: 'pro' })
  assert.deepEqual(await claimsNow(), left)
  await patch('application/json', { claims: { name: 'Edna' } })
  assert.deepEqual(await claimsNow(), { name: 'Edna' })
  assert.equal((await patch(merging, { plan: null })).status, 400)
  const proven = { phone_number: '+442079460123', phone_number_verified: true }
  await patch('application/json', { claims: proven })
  await patch(merging, { claims: { locale: 'nl' } })
  assert.deepEqual(await claimsNow(), { ...proven, locale: 'nl' })
  await patch(merging, { claims: { phone_number: '+442079460999' } })
  assert.deepEqual(await claimsNow(), { phone_number: '+442079460999', locale: 'nl' }, 'nobody has proven this one')
})

test('consents and sessions are listed and ended', async () => {
  const tokens = await getTokens(running)
  const consents = await call('GET', '/admin/v1/users/alice/consents')
  assert.equal((consents.body.items as { client_id: string }[])[0]?.client_id, 'web')
  const sessions = (await call('GET', '/admin/v1/users/alice/sessions')).body.items as { id: string }[]
  assert.equal((await call('DELETE', `/admin/v1/users/alice/sessions/${sessions[0]?.id}`)).status, 204)
  assert.equal((await call('DELETE', '/admin/v1/users/alice/consents/web')).status, 204)
  assert.equal((await refreshWith(tokens.refresh_token)).body.error, 'invalid_grant')
})

test('an id that a path cannot contain is rejected', async () => {
  for (const id of ['.', '..']) {
    assert.equal((await call('POST', '/admin/v1/users', { id })).status, 400, id)
    assert.equal((await call('POST', '/admin/v1/clients', { client_id: id })).status, 400, id)
  }
  assert.equal((await call('POST', '/admin/v1/users', { id: '...' })).status, 201)
  assert.equal((await call('GET', '/admin/v1/users/...')).status, 200)
})

test('an API key is shown once, resolved while it exists, and deleted', async () => {
  const made = await call('POST', '/admin/v1/api-keys', {
    owner: 'alice',
    name: 'laptop',
    scopes: ['write:notifications'],
  })
  const key = String(made.body.key)
  assert.match(key, /^gk_/)
  const resolved = { id: made.body.id, owner: 'alice', kind: 'user', scopes: ['write:notifications'], plan: 'pro' }
  assert.deepEqual(await running.identity.resolveApiKey(key), resolved)
  const internal = { grant_type: 'client_credentials', client_id: 'internal', client_secret: service.client_secret }
  const bearer = String((await running.post('/token', internal)).body.access_token)
  assert.deepEqual((await call('POST', '/admin/v1/api-keys/resolve', { key }, bearer)).body, resolved)
  assert.ok(!JSON.stringify((await call('GET', '/admin/v1/api-keys')).body).includes(key))
  const { rows } = await running.database.query('SELECT * FROM identity.api_key')
  assert.ok(!JSON.stringify(rows).includes(key), 'the key is stored as a hash')
  assert.equal((await call('DELETE', `/admin/v1/api-keys/${made.body.id}`)).status, 204)
  assert.equal(await running.identity.resolveApiKey(key), undefined)
  assert.equal((await call('POST', '/admin/v1/api-keys', { owner: 'nobody', name: 'x' })).status, 422)
})

test('an API key is suspended while its owner is locked and deleted with its owner', async () => {
  await call('POST', '/admin/v1/users', { id: 'keyed', password: 'battery staple' })
  await call('POST', '/admin/v1/clients', { client_id: 'keyed-client' })
  const keyOf = async (owner: string) =>
    String((await call('POST', '/admin/v1/api-keys', { owner, name: 'k' })).body.key)
  const [user, client] = [await keyOf('keyed'), await keyOf('keyed-client')]
  const kind = async (key: string) => (await running.identity.resolveApiKey(key))?.kind
  assert.deepEqual([await kind(user), await kind(client)], ['user', 'client'])
  await call('PATCH', '/admin/v1/users/keyed', { locked: true })
  assert.equal(await kind(user), undefined)
  await call('PATCH', '/admin/v1/users/keyed', { locked: false })
  assert.equal(await kind(user), 'user')
  await call('DELETE', '/admin/v1/users/keyed')
  await call('DELETE', '/admin/v1/clients/keyed-client')
  await call('POST', '/admin/v1/users', { id: 'keyed' })
  await call('POST', '/admin/v1/clients', { client_id: 'keyed-client' })
  assert.deepEqual(
    [await kind(user), await kind(client)],
    [undefined, undefined],
    'a recreated owner does not inherit the key',
  )
})

test('a signing key is rotated by command without showing its private part', async () => {
  const before = running.identity.keys().keys.length
  const rotated = await call('POST', '/admin/v1/signing-keys/rotate', { alg: 'ES256' })
  assert.equal(running.identity.keys().keys.length, before + 1)
  assert.ok(running.identity.keys().keys.some((key) => key.kid === rotated.body.kid))
  assert.equal((await call('GET', '/admin/v1/signing-keys')).status, 200)
  const text = JSON.stringify((await call('GET', '/admin/v1/signing-keys')).body)
  assert.ok(!text.includes('sealed') && !text.includes('"d"'))
})

test('the audit trail is filtered, paged and exported', async () => {
  const failed = new TestBrowser(running)
  await failed.submit(await failed.get('/account'), { username: 'alice', password: 'wrong' })
  const query = await call('GET', '/admin/v1/audit-events?type=login_failed&subject=alice')
  const events = query.body.items as { type: string; subject: string; address: string }[]
  assert.ok(
    events.length >= 1 && events.every((one) => one.type === 'login_failed' && one.subject === 'alice' && one.address),
  )
  const first = await call('GET', '/admin/v1/audit-events?limit=2')
  const second = await call('GET', `/admin/v1/audit-events?limit=2&cursor=${first.body.next}`)
  assert.notDeepEqual(first.body.items, second.body.items)
  const exported = await call('GET', '/admin/v1/audit-events/export')
  const lines = exported.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.ok(lines.some((line) => line.type === 'key_rotated'))
  assert.equal((await call('GET', '/admin/v1/audit-events?limit=5000')).status, 400)
})

test('time parameters accept every RFC 3339 date from 1970 to 9999 and reject others', async () => {
  const since = (time: string) => call('GET', `/admin/v1/audit-events?since=${encodeURIComponent(time)}`)
  assert.equal((await since('2016-12-31T23:59:60Z')).status, 200)
  const refused = await since('0000-01-01T00:00:00Z')
  assert.equal(refused.status, 400)
  assert.match(refused.text, /\/since must be a date and time of RFC 3339 from 1970 to 9999/)
  const key = { owner: 'alice', name: 'until a leap second' }
  const made = await call('POST', '/admin/v1/api-keys', { ...key, expires_at: '2098-12-31T23:59:60Z' })
  assert.deepEqual([made.status, made.body.expires_at], [201, '2099-01-01T00:00:00.000Z'])
})

test('a process without background work leaves notifications to the serving processes', async () => {
  const notified: string[] = []
  const database = await memoryDatabase(migrateIdentity)
  const managing = await setup({ background: false, onRecipient: undefined }, database)
  const { management } = managing.identity
  assert.deepEqual(managing.identity.workers, [])
  await management.createUser({ id: 'erin', email: 'erin@example.com' })
  await management.setPassword('erin', 'another password')
  assert.deepEqual([await management.listConsents('erin'), await management.listSessions('erin')], [[], []])
  await managing.close()
  const done = Promise.withResolvers<void>()
  const onRecipient = async ({ user_id }: Recipient | GoneRecipient) => {
    notified.push(user_id)
    if (user_id === 'erin') done.resolve()
  }
  const serving = await setup({ onRecipient }, database)
  await done.promise
  await serving.close()
  await database.close()
})

test('management needs its own scopes, and a forged cursor finds nothing', async () => {
  const { client_id, client_secret } = service
  const plain = await running.post('/token', { grant_type: 'client_credentials', client_id, client_secret })
  const bearer = String(plain.body.access_token)
  for (const path of ['clients', 'users', 'api-keys', 'signing-keys', 'audit-events']) {
    assert.equal((await call('GET', `/admin/v1/${path}`, undefined, bearer)).status, 403, path)
  }
  const forged = await call('GET', `/admin/v1/clients?cursor=${encodeURIComponent("' OR 1=1 --")}`)
  assert.equal(forged.status, 200)
  assert.equal((await call('GET', "/admin/v1/audit-events?cursor=' OR 1=1")).status, 400)
})

test('the revocation feed is read by cursor and requires its scope', async () => {
  const internal = { grant_type: 'client_credentials', client_id: 'internal', client_secret: service.client_secret }
  const bearer = String((await running.post('/token', internal)).body.access_token)
  const first = await call('GET', '/revocations', undefined, bearer)
  assert.ok((first.body.revocations as unknown[]).length > 0)
  const rest = await call('GET', `/revocations?after=${first.body.next}`, undefined, bearer)
  assert.deepEqual(rest.body, { revocations: [], next: first.body.next })
  assert.equal((await call('GET', '/revocations?after=x', undefined, bearer)).status, 400)
  const ahead = await call('GET', `/revocations?after=${Number(first.body.next) + 1}`, undefined, bearer)
  assert.deepEqual([ahead.status, ahead.body.title], [410, 'Gone'])
  assert.match(String(ahead.body.detail), /ahead of the feed/)
  assert.equal((await call('GET', '/revocations?after=0', undefined, bearer)).status, 200)
  assert.equal((await call('GET', '/revocations')).status, 403)
})

test('the command line offers the same management and resends every recipient', async () => {
  const { management } = running.identity
  const made = await management.createClient({ client_id: 'cli', scopes: ['read:users'] })
  assert.ok(made.client_secret)
  assert.ok((await management.listClients('', 100)).some((client) => client.client_id === 'cli'))
  await management.deleteClient('cli')
  assert.ok((await management.resyncRecipients()) >= 2)
  await management.rotateSigningKey('RS256')
  assert.ok(recipients.some((one) => one.user_id === 'alice' && 'email' in one && one.email === 'alice@example.com'))
})
