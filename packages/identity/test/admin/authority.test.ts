import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { adminScopes } from '../../src/index.ts'
import { administrators, call, clientToken, consoleClient, tokenOf } from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'

const secret = 'secret-0123456789abcdef'
const confidential = (client_id: string, ...scopes: string[]) => ({ client_id, client_secret: secret, scopes })
const password = 'a long and quiet password'

let running: Running
let operator: string
let owner: string
let registrar: string
let directory: string
let everything: string
before(async () => {
  running = await setup({
    declared: {
      clients: [
        consoleClient,
        confidential('registrar', 'admin:clients', 'admin:api-keys'),
        confidential('directory', 'admin:users'),
        confidential(
          'everything',
          ...Object.values(adminScopes),
          'admin:notifications',
          'admin:limits',
          'admin:privacy',
        ),
        confidential('services', 'read:revocations', 'read:api-keys', 'write:audit'),
        confidential('shop', 'orders:read'),
      ],
      users: [...administrators, { id: 'mallory', password }, { id: 'alice', password }],
    },
  })
  operator = await tokenOf(running, 'gatehouse-operator')
  owner = await tokenOf(running, 'gatehouse-owner')
  registrar = await clientToken(running, 'registrar', secret)
  directory = await clientToken(running, 'directory', secret)
  everything = await clientToken(running, 'everything', secret)
})
after(() => running.close())

const send = (token: string, method: string, path: string, payload?: object) =>
  call(running, token, { method, url: `/admin/v1/${path}`, ...(payload === undefined ? {} : { payload }) })

async function refuses(token: string, method: string, path: string, payload?: object): Promise<void> {
  const response = await send(token, method, path, payload)
  assert.equal(response.status, 403, `${method} ${path} ${JSON.stringify(payload)}: ${response.text}`)
}

test('a caller cannot register a client with a scope that the caller lacks', async () => {
  const beyond = ['admin:users', 'admin:roles', 'read:personal-data', 'read:api-keys']
  for (const scope of [...beyond, 'write:notifications', 'write:recipients', 'read:events'])
    await refuses(registrar, 'POST', 'clients', { client_id: 'own', scopes: ['orders:read', scope] })
  await refuses(operator, 'POST', 'clients', { client_id: 'own', scopes: ['admin:privacy'] })
  for (const scope of ['write:audit', 'write:reserved-mails'])
    await refuses(everything, 'POST', 'clients', { client_id: 'own', scopes: [scope] })
  const free = { client_id: 'products', scopes: ['openid', 'orders:read', 'admin:orders', 'admin:clients'] }
  assert.equal((await send(registrar, 'POST', 'clients', free)).status, 201)
  const producer = { client_id: 'producer', scopes: ['write:notifications', 'read:events', 'admin:users'] }
  assert.equal((await send(operator, 'POST', 'clients', producer)).status, 201)
})

test('a caller cannot give a client a scope that the caller lacks', async () => {
  await refuses(registrar, 'PATCH', 'clients/shop', { scopes: ['orders:read', 'admin:users'] })
  assert.equal((await send(registrar, 'PATCH', 'clients/shop', { scopes: ['orders:write'] })).status, 200)
})

test('a caller cannot change a client that holds a scope the caller lacks', async () => {
  for (const target of ['console', 'services', 'everything']) {
    await refuses(registrar, 'PATCH', `clients/${target}`, { redirect_uris: ['https://evil.example/callback'] })
    await refuses(operator, 'PATCH', `clients/${target}`, { client_name: 'Mine', scopes: [] })
    await refuses(operator, 'POST', `clients/${target}/secret`, {})
    await refuses(operator, 'DELETE', `clients/${target}`)
    await refuses(operator, 'POST', 'api-keys', { owner: target, name: 'mine' })
  }
})

test('an API key gets no scope that its creator lacks', async () => {
  await refuses(registrar, 'POST', 'api-keys', { owner: 'everything', name: 'k', scopes: ['admin:users'] })
  await refuses(registrar, 'POST', 'api-keys', { owner: 'alice', name: 'k', scopes: ['write:notifications'] })
  const free = { owner: 'alice', name: 'k', scopes: ['orders:read'] }
  assert.equal((await send(registrar, 'POST', 'api-keys', free)).status, 201)
})

test('a caller cannot rotate the API key of an owner with a scope that the caller lacks', async () => {
  const { id } = await running.identity.management.createApiKey({ owner: 'everything', name: 'k' })
  await refuses(operator, 'POST', `api-keys/${id}/rotate`, {})
  assert.equal((await send(everything, 'POST', `api-keys/${id}/rotate`, {})).status, 200)
})

test('an API key gets no scope that its owner may not hold', async () => {
  for (const [owner, scope] of [
    ['alice', 'admin:users'],
    ['alice', 'read:accounts'],
    ['alice', 'read:api-keys'],
    ['shop', 'admin:users'],
    ['shop', 'invoices:read'],
  ] as const) {
    const response = await send(everything, 'POST', 'api-keys', { owner, name: 'k', scopes: [scope] })
    assert.equal(response.status, 422, `${owner} ${scope}: ${response.text}`)
    assert.match(response.text, /\/scopes must be among the owner's scopes/)
  }
})

test('a user’s API key loses its management scopes with the user’s roles', async () => {
  const { management } = running.identity
  await management.createUser({ id: 'helper', password, roles: ['gatehouse-operator'] })
  const scopes = ['admin:users', 'orders:read']
  const made = await send(everything, 'POST', 'api-keys', { owner: 'helper', name: 'k', scopes })
  assert.equal(made.status, 201, made.text)
  const usable = async () => (await running.identity.resolveApiKey(String(made.body.key)))?.scopes
  assert.deepEqual(await usable(), scopes)
  await management.updateUser('helper', { roles: ['gatehouse-support'] })
  assert.deepEqual(await usable(), ['orders:read'])
})

test('a client’s API key loses the scopes that the client loses', async () => {
  const { management } = running.identity
  await management.createClient({ client_id: 'shrinks', scopes: ['admin:users', 'orders:read'] })
  const { key = '' } = await management.createApiKey({ owner: 'shrinks', name: 'k', scopes: ['admin:users'] })
  assert.deepEqual((await running.identity.resolveApiKey(key))?.scopes, ['admin:users'])
  await management.updateClient('shrinks', { scopes: ['orders:read'] })
  assert.deepEqual((await running.identity.resolveApiKey(key))?.scopes, [])
})

test('a client that only signs users in owns no API key, and loses those it had', async () => {
  const { management } = running.identity
  const redirect_uris = ['https://pages.example/callback']
  await management.createClient({ ...confidential('pages', 'admin:users'), redirect_uris })
  const refused = await send(everything, 'POST', 'api-keys', { owner: 'pages', name: 'k', scopes: ['admin:users'] })
  assert.equal(refused.status, 422, refused.text)
  assert.match(refused.text, /\/owner must be a user or a client with the grant client_credentials/)
  await management.updateClient('pages', { grant_types: ['authorization_code', 'client_credentials'] })
  const { id, key = '' } = await management.createApiKey({ owner: 'pages', name: 'k', scopes: ['admin:users'] })
  assert.equal((await running.identity.resolveApiKey(key))?.kind, 'client')
  await management.updateClient('pages', { grant_types: ['authorization_code'] })
  assert.equal(await running.identity.resolveApiKey(key), undefined)
  await refuses(registrar, 'DELETE', `api-keys/${id}`)
})

test('a person cannot grant a role that they lack, not even to themselves', async () => {
  await refuses(operator, 'PATCH', 'users/operator', { roles: ['gatehouse-owner'] })
  await refuses(operator, 'PATCH', 'users/mallory', { roles: ['gatehouse-auditor'] })
  await refuses(operator, 'POST', 'users', { id: 'new', roles: ['gatehouse-operator'] })
  await refuses(operator, 'PUT', 'roles/gatehouse-owner/members/operator')
  await refuses(directory, 'PATCH', 'users/mallory', { roles: ['gatehouse-owner'] })
  await running.identity.management.createClient({
    client_id: 'role-giver',
    client_secret: secret,
    scopes: ['admin:roles', 'admin:users'],
  })
  const giver = await clientToken(running, 'role-giver', secret)
  await refuses(giver, 'PUT', 'roles/gatehouse-owner/members/mallory')
  await refuses(giver, 'PATCH', 'users/mallory', { roles: ['gatehouse-support'] })
})

test('a role is granted and revoked by a caller with admin:roles and every scope of the role', async () => {
  const member = 'roles/gatehouse-support/members/mallory'
  assert.equal((await send(owner, 'PUT', member)).status, 204)
  assert.equal((await send(owner, 'GET', member)).body.user_id, 'mallory')
  assert.equal((await send(owner, 'PUT', member)).status, 204)
  assert.equal((await send(owner, 'DELETE', member)).status, 204)
  assert.equal((await send(owner, 'GET', member)).status, 404)
  assert.equal((await send(owner, 'PUT', 'roles/gatehouse-king/members/mallory')).status, 404)
  assert.equal((await send(directory, 'PATCH', 'users/mallory', { roles: ['editor'] })).status, 200)
})

test('an account with a management role is changed only by callers with all of its scopes', async () => {
  for (const token of [operator, directory]) {
    await refuses(token, 'PUT', 'users/owner/password', { password: 'the password of an attacker' })
    await refuses(token, 'PATCH', 'users/owner', { email: 'attacker@evil.example' })
    await refuses(token, 'PATCH', 'users/owner', { locked: true })
    await refuses(token, 'PATCH', 'users/owner', { roles: [] })
    await refuses(token, 'DELETE', 'users/owner')
    await refuses(token, 'DELETE', 'users/owner/consents/console')
    await refuses(token, 'DELETE', 'users/owner/sessions/0198c0de-0000-7000-8000-000000000001')
    await refuses(token, 'POST', 'users/owner/mail', { kind: 'reset' })
  }
  await refuses(operator, 'POST', 'api-keys', { owner: 'owner', name: 'k', scopes: ['orders:read'] })
  assert.equal((await send(directory, 'PATCH', 'users/alice', { plan: 'pro' })).status, 200)
  assert.equal((await send(owner, 'PATCH', 'users/auditor', { plan: 'pro' })).status, 200)
})

test('an unknown reserved role is rejected, and clients cannot have reserved roles at all', async () => {
  for (const [path, payload] of [
    ['users', { id: 'king', roles: ['gatehouse-king'] }],
    ['clients', { client_id: 'king', roles: ['gatehouse-king'] }],
    ['clients', { client_id: 'king', roles: ['gatehouse-owner'] }],
  ] as const) {
    const response = await send(everything, 'POST', path, payload)
    assert.equal(response.status, 422, response.text)
    assert.match(response.text, /\/roles\/0/)
  }
  assert.equal((await send(everything, 'PATCH', 'users/alice', { roles: ['gatehouse-'] })).status, 422)
  const { identity } = running
  await assert.rejects(identity.management.createUser({ id: 'king', roles: ['gatehouse-king'] }), /must be one of/)
  for (const declared of [
    { users: [{ id: 'king', roles: ['editor', 'gatehouse-king'] }] },
    { clients: [{ client_id: 'king', roles: ['gatehouse-owner'] }] },
  ])
    await assert.rejects(setup({ declared }), /king: roles\.\d (begins with|is reserved)/)
})

test('the last owner cannot be removed, locked or deleted, and a locked owner does not count', async () => {
  const { management } = running.identity
  const last = async () => {
    for (const [method, path, payload] of [
      ['DELETE', 'roles/gatehouse-owner/members/owner', undefined],
      ['PATCH', 'users/owner', { roles: [] }],
      ['PATCH', 'users/owner', { locked: true }],
      ['DELETE', 'users/owner', undefined],
    ] as const) {
      const response = await send(everything, method, path, payload)
      assert.equal(response.status, 409, `${method} ${path}: ${response.text}`)
    }
  }
  await last()
  await management.createUser({ id: 'second', password, roles: ['gatehouse-owner'] })
  await management.updateUser('second', { locked: true })
  await last()
  await management.deleteUser('second')
  assert.equal((await send(owner, 'GET', 'me')).status, 200)
})

test('a revoked role is ineffective at once, whatever the token carries', async () => {
  await running.identity.management.createUser({ id: 'leaver', password, roles: ['gatehouse-operator'] })
  const token = await tokenOf(running, 'gatehouse-operator', 'leaver')
  assert.equal((await send(token, 'GET', 'users')).status, 200)
  await running.identity.management.changeRole('leaver', { role: 'gatehouse-operator', granted: false })
  await refuses(token, 'GET', 'users')
  assert.deepEqual((await send(token, 'GET', 'me')).body.scopes, ['openid'])
  const { revocations } = await running.identity.revocations(undefined)
  assert.ok(revocations.some((one) => 'subject' in one && one.subject === 'leaver'))
})

test('GET /admin/v1/me returns the caller, its roles and scopes, and the sign-in time', async () => {
  const person = await send(operator, 'GET', 'me')
  const { scopes, ...rest } = person.body
  assert.deepEqual(rest, {
    user: 'operator',
    roles: ['gatehouse-operator'],
    auth_time: Math.floor(running.clock.now() / 1000),
  })
  assert.ok((scopes as string[]).includes('read:accounts') && !(scopes as string[]).includes('admin:roles'))
  const service = (await send(directory, 'GET', 'me')).body
  assert.deepEqual(service, {
    client: 'directory',
    roles: [],
    scopes: ['admin:users', 'read:accounts', 'write:account-mail', 'write:sessions'],
  })
})

test('a role removed in the configuration revokes the access tokens issued under it', async () => {
  const after = async (...roles: string[]) => {
    const { next } = await running.identity.revocations(undefined)
    const again = await setup({ declared: { users: [{ id: 'filed', password, roles }] } }, running.database)
    await again.close()
    const { revocations } = await running.identity.revocations(next)
    return revocations.map((one) => 'subject' in one && one.subject)
  }
  assert.deepEqual(await after('gatehouse-operator', 'editor'), [])
  assert.deepEqual(await after('gatehouse-operator'), [])
  assert.deepEqual(await after(), ['filed'])
})
