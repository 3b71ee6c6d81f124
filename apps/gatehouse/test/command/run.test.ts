import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createIdentity, type Management } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import { createMetrics, type Database, manualClock, Problem, Secret, StartError, silentLog } from '@gatehouse/kit'
import { memoryDatabase, temporaryFolder } from '@gatehouse/testing'
import { runCommand } from '../../src/command/run.ts'

let database: Database
let management: Management
before(async () => {
  database = await memoryDatabase(migrateIdentity)
  const identity = await createIdentity({
    store: postgresIdentityStore(database),
    issuer: 'http://localhost:8080',
    baseUrl: 'http://localhost:8080',
    encryptionKey: new Secret('0123456789abcdef0123456789abcdef'),
    authenticate: () => assert.fail('the command line serves no requests'),
    background: false,
    clock: manualClock(),
    log: silentLog,
    metrics: createMetrics(),
  })
  management = identity.management
})
after(() => database.close())

/** Types a command; answers what it printed. */
async function gatehouse(...typed: string[]) {
  const printed: string[] = []
  const { log } = console
  console.log = (line: string) => printed.push(line)
  try {
    await runCommand(typed, async () => ({ management, close: async () => {} }), {
      distribute: () => assert.fail('nothing is distributed here'),
      reseal: () => assert.fail('nothing is resealed here'),
    })
  } finally {
    console.log = log
  }
  return JSON.parse(printed.join('\n'))
}

test('clients are changed on the command line: what is named, and the rest stays', async () => {
  await gatehouse('client', 'add', 'shop', '--scopes', 'read:users')
  const changed = await gatehouse('client', 'change', 'shop', '--name', 'The shop', '--plan', 'pro')
  assert.deepEqual([changed.client_name, changed.plan, changed.scopes], ['The shop', 'pro', ['read:users']])
  await assert.rejects(gatehouse('client', 'change', 'shop'), /no option to change is set/)
  await assert.rejects(gatehouse('client', 'change', 'shop', '--grant-types', 'password'), StartError)
  await assert.rejects(gatehouse('client', 'change', 'shop', '--assertion-audience', 'token'), StartError)
  const withSecret = gatehouse('client', 'change', 'shop', '--assertion-audience', 'endpoint')
  await assert.rejects(withSecret, /private_key_jwt/)
})

test('users are changed, and given a new password that is shown once', async () => {
  const { password } = await gatehouse('user', 'add', 'bob', '--username', 'bobby')
  const made = await gatehouse('user', 'password', 'bob')
  assert.ok(made.password.length >= 12 && made.password !== password)
  const changed = await gatehouse('user', 'change', 'bob', '--email', 'bob@example.com')
  assert.deepEqual([changed.username, changed.email], ['bobby', 'bob@example.com'])
  await assert.rejects(gatehouse('user', 'password', 'nobody'), Problem)
})

test('a file of users is imported with a report for each line that created none', async () => {
  const hash = '$2b$05$lxydAvOb/a3roiIdTZDsGuXZ.p/9NVcwCCkFCSSmltrRl050hoFua'
  const lines = [
    JSON.stringify({ user_id: 'auth0|1', email: 'one@people.example', password_hash: hash }),
    '',
    'not JSON',
    JSON.stringify({ user_id: 'auth0|1' }),
    JSON.stringify({ user_id: 'auth0|4', email: 'no address' }),
    JSON.stringify({ user_id: 'auth0|5', password_hash: hash.replace('$05$', '$25$') }),
  ]
  const path = join(temporaryFolder('import'), 'users.ndjson')
  writeFileSync(path, lines.join('\n'))
  const report = await gatehouse('users', 'import', path)
  assert.deepEqual([report.created, report.exists, report.refused], [1, 1, 3])
  assert.deepEqual(
    report.lines.map(({ line, outcome }: { line: number; outcome: string }) => `${line} ${outcome}`),
    ['3 refused', '4 exists', '5 refused', '6 refused'],
  )
  assert.match(report.lines[0].reason, /must be a JSON object/)
  assert.match(report.lines[2].reason, /email/)
  assert.match(report.lines[3].reason, /cost of 4 to 14/)
  assert.ok(!JSON.stringify(report).includes(hash.slice(8)))
  await assert.rejects(gatehouse('users', 'import', `${path}.missing`), /the file of users cannot be read/)
  await assert.rejects(gatehouse('users', 'import', path, '--source', 'okta'), /--source must be one of/)
})

test('more users than one request takes are imported from a list', async () => {
  const users = Array.from({ length: 1_001 }, (_, index) => ({ localId: `fb${index}` }))
  const path = join(temporaryFolder('import'), 'users.json')
  writeFileSync(path, JSON.stringify({ users }))
  assert.equal((await gatehouse('users', 'import', path)).created, users.length)
  assert.equal((await gatehouse('users', 'import', path)).exists, users.length)
})

test('consents and sessions of a user are listed and ended', async () => {
  await gatehouse('user', 'add', 'carol')
  await gatehouse('client', 'add', 'app', '--redirect-uris', 'https://app.example/callback')
  const { consents, sessions, users } = postgresIdentityStore(database)
  const version = (await users.find('carol'))?.credentialVersion ?? assert.fail('there is no carol')
  const now = manualClock().now()
  for (const id of ['0198c0de-0000-7000-8000-000000000001', '0198c0de-0000-7000-8000-000000000002']) {
    const times = { authTime: now, createdAt: now, seenAt: now, expiresAt: now + 3_600_000 }
    await sessions.start(
      { id, userId: 'carol', amr: ['pwd'], remembered: false, userAgent: '', address: '::1', ...times },
      `hash of ${id}`,
      version,
    )
    await consents.add('carol', id, { clientId: 'app', scopes: ['openid'], resources: [], claims: [], grantedAt: 0 })
  }
  assert.deepEqual(
    (await gatehouse('user', 'consents', 'carol')).map((one: { client_id: string }) => one.client_id),
    ['app'],
  )
  assert.deepEqual(await gatehouse('user', 'withdraw', 'carol', '--client', 'app'), { done: true })
  assert.deepEqual(await gatehouse('user', 'consents', 'carol'), [])
  const [{ id }] = await gatehouse('user', 'sessions', 'carol')
  assert.deepEqual(await gatehouse('user', 'sign-out', 'carol', '--session', id), { ended: 1 })
  await assert.rejects(gatehouse('user', 'sign-out', 'carol', '--session', id), /There is no such session/)
  assert.deepEqual(await gatehouse('user', 'sign-out', 'carol'), { ended: 1 })
  assert.deepEqual(await gatehouse('user', 'sessions', 'carol'), [])
  await assert.rejects(gatehouse('user', 'withdraw', 'carol'), /--client must name the client/)
})

test('the providers of a user are listed and removed, and a connection is switched off and on', async () => {
  await gatehouse('user', 'add', 'dora')
  await management.createConnection({ id: 'google', kind: 'google', client_id: 'c', client_secret: 'secret' })
  const { linkedAccounts, users } = postgresIdentityStore(database)
  const credentialVersion = (await users.find('dora'))?.credentialVersion ?? assert.fail('there is no dora')
  const link = { connectionId: 'google', issuer: 'https://accounts.google.com', subject: '7', email: undefined }
  await linkedAccounts.add({ userId: 'dora', credentialVersion }, link, [], manualClock().now())
  const [{ id, connection }] = await gatehouse('user', 'providers', 'dora')
  assert.equal(connection, 'google')
  assert.equal((await gatehouse('connection', 'disable', 'google')).enabled, false)
  const [listed] = await gatehouse('connection', 'list')
  assert.deepEqual([listed.id, listed.enabled, 'client_secret' in listed], ['google', false, false])
  assert.equal((await gatehouse('connection', 'enable', 'google')).enabled, true)
  await assert.rejects(gatehouse('user', 'disconnect', 'dora'), /--link must name the link/)
  assert.deepEqual(await gatehouse('user', 'disconnect', 'dora', '--link', id), { remaining_ways: 1 })
  assert.deepEqual(await gatehouse('user', 'providers', 'dora'), [])
  await assert.rejects(gatehouse('user', 'disconnect', 'dora', '--link', id), Problem)
})

test('signing keys are listed, the one that was just made among them, and no private part', async () => {
  const { kid } = await gatehouse('keys', 'rotate')
  const keys = await gatehouse('keys', 'list')
  assert.ok(keys.some((key: { kid: string }) => key.kid === kid))
  assert.doesNotMatch(JSON.stringify(keys), /sealed|"d"/)
})

test('the first owner is made on the command line, and the last one stays', async () => {
  await gatehouse('user', 'add', 'olga')
  assert.deepEqual(await gatehouse('admin', 'list'), [])
  assert.deepEqual(await gatehouse('admin', 'grant', 'olga', 'gatehouse-owner'), { done: true })
  const owner = { role: 'gatehouse-owner', user_id: 'olga', username: 'olga', locked: false }
  assert.deepEqual(await gatehouse('admin', 'list'), [owner])
  await assert.rejects(gatehouse('admin', 'revoke', 'olga', 'gatehouse-owner'), /the last user with the role/)
  await assert.rejects(gatehouse('user', 'remove', 'olga'), /the last user with the role/)
  await assert.rejects(gatehouse('admin', 'grant', 'olga', 'gatehouse-king'), /the roles are gatehouse-owner, /)
  await assert.rejects(gatehouse('admin', 'grant', 'olga'), /the role: gatehouse-owner.* is missing/)
  await assert.rejects(gatehouse('admin', 'grant', 'olga', 'gatehouse-owner', 'x'), /unexpected argument x/)
  await gatehouse('user', 'add', 'otto')
  await gatehouse('admin', 'grant', 'otto', 'gatehouse-owner')
  await gatehouse('admin', 'revoke', 'olga', 'gatehouse-owner')
  assert.deepEqual(await gatehouse('admin', 'list'), [{ ...owner, user_id: 'otto', username: 'otto' }])
  const { audit } = postgresIdentityStore(database)
  const events = await audit.list({ actor: 'command line', subject: 'olga', limit: 10 })
  assert.deepEqual(events.map(({ action, before, after }) => [action, before, after]).slice(1), [
    ['roles.grant', { roles: [] }, { roles: ['gatehouse-owner'] }],
    ['roles.revoke', { roles: ['gatehouse-owner'] }, { roles: [] }],
  ])
})

test('a reserved role that is none of the four is refused on the command line', async () => {
  await gatehouse('user', 'add', 'rolf')
  await assert.rejects(
    gatehouse('user', 'change', 'rolf', '--roles', 'gatehouse-admin'),
    /must be one of gatehouse-owner/,
  )
})
