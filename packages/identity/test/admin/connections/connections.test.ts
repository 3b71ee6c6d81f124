import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { memoryDatabase } from '@gatehouse/testing'
import { migrateIdentity, postgresIdentityStore } from '../../../src/postgres/index.ts'
import { TestBrowser } from '../../support/journey.ts'
import { administrators, call as callAs, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { issuer, type Running, setup } from '../../support/setup.ts'

let running: Running
let owner: string
before(async () => {
  running = await setup({ declared: { clients: [consoleClient], users: administrators } })
  owner = await tokenOf(running, 'gatehouse-owner')
})
after(() => running.close())

const path = '/admin/v1/connections'
const call = (method: string, url: string, payload?: object, token = owner) =>
  callAs(running, token, { method, url, ...(payload === undefined ? {} : { payload }) })

const google = { id: 'google', kind: 'google', client_id: 'g', client_secret: 'a-very-secret-value' }

test('a connection is created, changed and deleted, and its secret is never shown', async () => {
  const made = await call('POST', path, google)
  assert.equal(made.status, 201, made.text)
  assert.equal(made.body.callback_uri, `${issuer}/login/providers/google/callback`)
  const browser = new TestBrowser(running)
  assert.match((await browser.get('/account')).text, /Continue with Google/)
  const changed = await call('PATCH', `${path}/google`, { name: 'Work account', domains: ['corp.example'] })
  assert.deepEqual(
    [changed.body.name, changed.body.domains, changed.body.kind],
    ['Work account', ['corp.example'], 'google'],
  )
  assert.match((await browser.get('/account')).text, /Continue with Work account/)
  const listed = await call('GET', path)
  assert.equal((listed.body.items as unknown[]).length, 1)
  const { rows } = await running.database.query(
    'SELECT c::text FROM identity.connection c UNION ALL SELECT e::text FROM identity.audit_event e',
  )
  for (const text of [made.text, changed.text, listed.text, JSON.stringify(rows)])
    assert.ok(!text.includes(google.client_secret))
  assert.equal((await call('POST', path, google)).status, 409)
  assert.equal((await call('DELETE', `${path}/google`)).status, 204)
  assert.equal((await call('GET', `${path}/google`)).status, 404)
  assert.equal((await call('PATCH', `${path}/google`, {})).status, 404)
  assert.doesNotMatch((await browser.get('/account')).text, /Work account/)
})

test('only owners change connections: whoever does can sign in as any linked user', async () => {
  const operator = await tokenOf(running, 'gatehouse-operator')
  assert.equal((await call('GET', path, undefined, operator)).status, 200)
  assert.equal((await call('POST', path, google, operator)).status, 403)
  assert.equal((await call('PATCH', `${path}/google`, { enabled: false }, operator)).status, 403)
  assert.equal((await call('DELETE', `${path}/google`, undefined, operator)).status, 403)
})

const { privateKey: p384 } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const wrongKey = String(p384.export({ type: 'pkcs8', format: 'pem' }))

const faulty: readonly (readonly [what: string, connection: object, pointer: string])[] = [
  ['oidc without an issuer', { kind: 'oidc', client_id: 'c' }, '/issuer'],
  ['an issuer without TLS', { kind: 'oidc', client_id: 'c', issuer: 'http://i.example' }, '/issuer'],
  ['an issuer on this machine', { kind: 'oidc', client_id: 'c', issuer: 'http://localhost:1' }, '/issuer'],
  ['google without a secret', { kind: 'google', client_id: 'c' }, '/client_secret'],
  ['Entra without tenants', { kind: 'microsoft', client_id: 'c', client_secret: 's' }, '/tenants'],
  ['Entra with no tenant', { kind: 'microsoft', client_id: 'c', client_secret: 's', tenants: [] }, '/tenants'],
  [
    'apple with a P-384 key',
    { kind: 'apple', client_id: 'c', team_id: 't', key_id: 'k', private_key: wrongKey },
    '/private_key',
  ],
  [
    'github as authority for addresses',
    { kind: 'github', client_id: 'c', client_secret: 's', authoritative_domains: ['x.example'] },
    '/authoritative_domains',
  ],
  [
    'an Enterprise Server with a slash',
    { kind: 'github', client_id: 'c', client_secret: 's', issuer: 'https://ghe.example/' },
    '/issuer',
  ],
  [
    'the only way to sign in for a domain whose accounts it may not link',
    { kind: 'google', client_id: 'c', client_secret: 's', required: true, domains: ['a.example'] },
    '/authoritative_domains',
  ],
  [
    'the only way to sign in for more domains than it is authoritative for',
    {
      ...{ kind: 'google', client_id: 'c', client_secret: 's', required: true },
      ...{ domains: ['a.example', 'b.example'], authoritative_domains: ['a.example'] },
    },
    '/authoritative_domains',
  ],
  [
    'github as the only way to sign in for a domain',
    { kind: 'github', client_id: 'c', client_secret: 's', required: true, domains: ['a.example'] },
    '/authoritative_domains',
  ],
  ['a member of another kind', { kind: 'google', client_id: 'c', client_secret: 's', tenants: [] }, '/tenants'],
]

for (const [what, connection, pointer] of faulty) {
  test(`a connection is refused: ${what}`, async () => {
    const response = await call('POST', path, { id: 'faulty', ...connection })
    assert.equal(response.status, 422, response.text)
    assert.ok(
      (response.body.errors as { pointer: string }[]).some((one) => one.pointer === pointer),
      response.text,
    )
  })
}

test('a required connection says which accounts it would lock out', async () => {
  const connection = { id: 'strict', kind: 'google', client_id: 'c', client_secret: 's', domains: ['a.example'] }
  const { body } = await call('POST', path, { ...connection, required: true })
  assert.match(String(body.detail), /must contain a\.example.*accounts of a\.example that are not linked yet/)
  const accepted = { ...connection, required: true, authoritative_domains: ['a.example'] }
  assert.equal((await call('POST', path, accepted)).status, 201)
  const { status } = await call('PATCH', `${path}/strict`, { authoritative_domains: [] })
  assert.equal(status, 422, 'and a change may not lock them out either')
  assert.equal((await call('DELETE', `${path}/strict`)).status, 204)
})

test('a declared connection is applied when it was edited, and changes at run time stay', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const store = postgresIdentityStore(database)
  const declared = (name: string) => ({
    declared: { connections: [{ ...google, kind: 'google' as const, name }] },
  })
  const first = await setup(declared('One'), database)
  await first.identity.management.updateConnection('google', { enabled: false })
  await first.close()
  const second = await setup(declared('One'), database)
  assert.equal((await store.connections.find('google'))?.settings.enabled, false)
  await second.close()
  const third = await setup(declared('Two'), database)
  const found = await store.connections.find('google')
  assert.deepEqual([found?.settings.enabled, found?.settings.name], [undefined, 'Two'])
  await third.close()
  await assert.rejects(
    setup({ declared: { connections: [{ id: 'x', kind: 'oidc', client_id: 'c' }] } }),
    /connection x: issuer is required for the kind oidc/,
  )
  await database.close()
})
