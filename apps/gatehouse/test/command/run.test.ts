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
    notify: () => assert.fail('the command line delivers nothing'),
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
      rotateLinks: () => assert.fail('no links are replaced here'),
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

test('a new secret and a rotated key leave the old one valid for the overlap', async () => {
  const { client_secret: old } = await gatehouse('client', 'add', 'till', '--scopes', 'read:users')
  const renewed = await gatehouse('client', 'secret', 'till', '--overlap', '60')
  assert.ok(renewed.client_secret && renewed.client_secret !== old)
  assert.equal(renewed.previous_secret_expires_at, new Date(manualClock().now() + 60_000).toISOString())
  const { id } = await gatehouse('api-key', 'add', 'till', '--scopes', 'read:users')
  assert.ok((await gatehouse('api-key', 'rotate', id, '--overlap', '60')).key)
  await assert.rejects(gatehouse('client', 'secret', 'till', '--overlap', 'soon'), /overlap_seconds must be/)
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

test('organizations are created, shown, and get members and invitations', async () => {
  await gatehouse('user', 'add', 'vera', '--email', 'vera@example.com')
  const made = await gatehouse('organization', 'add', 'acme', '--name', 'Acme Ltd', '--require-mfa')
  assert.deepEqual([made.id, made.name, made.require_mfa], ['acme', 'Acme Ltd', true])
  await gatehouse('member', 'add', 'acme', 'vera', '--roles', 'owner')
  const shown = await gatehouse('organization', 'show', 'acme')
  assert.deepEqual(
    shown.members.map(({ user_id, roles }: Record<string, unknown>) => [user_id, roles]),
    [['vera', ['owner']]],
  )
  assert.deepEqual(
    (await gatehouse('organization', 'list')).map(({ id }: { id: string }) => id),
    ['acme'],
  )
  const invited = await gatehouse('organization', 'invite', 'acme', 'New@Example.com', '--roles', 'owner')
  assert.deepEqual([invited.email, invited.roles, invited.invited_by], ['new@example.com', ['owner'], undefined])
  assert.doesNotMatch(JSON.stringify(invited), /token|http/, 'the link is in the mail only')
  const { rows } = await database.query("SELECT 1 FROM identity.outbox WHERE kind = 'mail' AND subject = 'vera'")
  assert.equal(rows.length, 2, 'the running program mails the proof of the address, and the notice')
  await assert.rejects(gatehouse('member', 'remove', 'acme', 'vera'), /last member with the role owner/)
  await assert.rejects(gatehouse('member', 'add', 'acme', 'vera', '--roles', 'king'), /is not a role here/)
  await assert.rejects(gatehouse('organization', 'invite', 'acme', 'x', '--roles', 'owner,owner'), StartError)
  await assert.rejects(gatehouse('organization', 'show', 'nowhere'), Problem)
  await assert.rejects(gatehouse('organization', 'add', 'a/b'), StartError)
  await gatehouse('user', 'add', 'petra')
  await gatehouse('member', 'add', 'acme', 'petra', '--roles', 'owner')
  assert.deepEqual(await gatehouse('member', 'remove', 'acme', 'vera'), { done: true })
})

test('the second factors of a user are listed, and reset with a notice', async () => {
  await gatehouse('user', 'add', 'frida', '--email', 'frida@example.com')
  const { authenticatorApps, users } = postgresIdentityStore(database)
  const { credentialVersion = '' } = (await users.find('frida')) ?? {}
  const app = { userId: 'frida', secretSealed: 'sealed-secret', lastStep: 0 }
  const change = { userId: 'frida', verified: credentialVersion, messages: [], now: 0 }
  assert.ok(await authenticatorApps.enrol(app, ['hash'], change))
  const listed = await gatehouse('user', 'factors', 'frida')
  assert.deepEqual(
    listed.factors.map(({ kind }: { kind: string }) => kind),
    ['totp'],
  )
  assert.doesNotMatch(JSON.stringify(listed), /sealed-secret/)
  assert.deepEqual(await gatehouse('user', 'reset-factors', 'frida'), { done: true })
  const { factors: left, must_enrol } = await gatehouse('user', 'factors', 'frida')
  assert.deepEqual([left, must_enrol], [[], true])
  await assert.rejects(gatehouse('user', 'reset-factors', 'nobody'), Problem)
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
})

test('a sign-out ends all sessions of a user, also more than a list has', async () => {
  await gatehouse('user', 'add', 'sam')
  await database.query(
    `INSERT INTO identity.session (id, secret_hash, user_id, amr, remembered, user_agent, address,
       auth_time, created_at, seen_at, expires_at)
     SELECT gen_random_uuid(), 'hash ' || n, 'sam', '{pwd}', false, '', '::1', $1, $1, $1, $2
       FROM generate_series(1, 501) n`,
    [manualClock().now(), manualClock().now() + 3_600_000],
  )
  assert.deepEqual(await gatehouse('user', 'sign-out', 'sam'), { ended: 501 })
  assert.deepEqual(await gatehouse('user', 'sign-out', 'sam'), { ended: 0 })
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
  assert.deepEqual(await gatehouse('user', 'disconnect', 'dora', '--link', id), { remaining_ways: 1 })
  assert.deepEqual(await gatehouse('user', 'providers', 'dora'), [])
  await assert.rejects(gatehouse('user', 'disconnect', 'dora', '--link', id), Problem)
})

test('signing keys are listed, the one that was just made among them, and no private part', async () => {
  const { alg, kid } = await gatehouse('keys', 'rotate', '--alg', 'ES256')
  assert.equal(alg, 'ES256')
  const keys = await gatehouse('keys', 'list')
  assert.ok(keys.some((key: { kid: string }) => key.kid === kid))
  assert.doesNotMatch(JSON.stringify(keys), /sealed|"d"/)
})

interface ListedKey {
  readonly alg: string
  readonly kid: string
  readonly state: string
}

test('without --alg the keys of all algorithms are rotated', async () => {
  const made: ListedKey[] = await gatehouse('keys', 'rotate')
  assert.deepEqual(made.map(({ alg }) => alg).toSorted(), ['ES256', 'RS256'])
  const next = (await gatehouse('keys', 'list')).filter(({ state }: ListedKey) => state === 'next')
  for (const { alg, kid } of made) assert.ok(next.some((key: ListedKey) => key.alg === alg && key.kid === kid))
})

test('without --alg no compromised key of any algorithm is left', async () => {
  await gatehouse('keys', 'rotate', '--alg', 'PS256')
  const made: ListedKey[] = await gatehouse('keys', 'rotate', '--compromised')
  assert.deepEqual(made.map(({ alg }) => alg).toSorted(), ['ES256', 'PS256', 'RS256'])
  const left: ListedKey[] = await gatehouse('keys', 'list')
  assert.deepEqual(left.map(({ kid }) => kid).toSorted(), made.map(({ kid }) => kid).toSorted())
  assert.ok(left.every(({ state }) => state === 'active'))
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
