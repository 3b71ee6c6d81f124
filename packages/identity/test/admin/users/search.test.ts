import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { TestBrowser } from '../../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { type Running, setup, type TestResponse } from '../../support/setup.ts'

const password = 'a long and quiet password'
const people = [
  { id: 'ada', username: 'ada.lovelace', email: 'Ada@People.example', claims: { phone_number: '+44 7700 900-123' } },
  { id: 'ada_2', username: 'second', email: 'two@people.example', plan: 'pro' },
  { id: 'adam', username: 'first.man', email: 'adam@people.example' },
  { id: 'zoe', username: 'adamant', email_verified: true, email: 'zoe@people.example', roles: ['editor'] },
]

let running: Running
let support: string
let owner: string
before(async () => {
  running = await setup({
    declared: { clients: [consoleClient], users: [...administrators, ...people.map((one) => ({ ...one, password }))] },
  })
  support = await tokenOf(running, 'gatehouse-support')
  owner = await tokenOf(running, 'gatehouse-owner')
})
after(() => running.close())

const list = (query: string, token = support) =>
  call(running, token, { method: 'GET', url: `/admin/v1/users?${query}` })
const search = (payload: object, token = support) =>
  call(running, token, { method: 'POST', url: '/admin/v1/users/search', payload })
const idsOf = ({ body, text }: TestResponse) =>
  (body.items as { id: string }[] | undefined)?.map(({ id }) => id) ?? assert.fail(text)

test('users are found by the beginning of their id or name, in the order of their ids', async () => {
  assert.deepEqual(idsOf(await list('q=ada')), ['ada', 'ada_2', 'adam', 'zoe'])
  assert.deepEqual(idsOf(await list('q=ADAM')), ['zoe'], 'names are compared in lower case, ids are not')
  assert.deepEqual(idsOf(await list('q=ada_')), ['ada_2'], 'an underscore is no pattern')
  assert.deepEqual(idsOf(await list('q=%25')), [])
  assert.deepEqual(idsOf(await search({ q: 'first.' })), ['adam'])
})

test('whoever sees names masked finds none by the beginning of one that is', async () => {
  const names = ['quentin@people.example', '+447700900999', '198.51.100.23', 'plain.quentin']
  for (const [index, username] of names.entries())
    await running.identity.management.createUser({ id: `guessed-${index}`, username, password })
  const guesses = ['q', 'qu', '198.51', '447', 'plain.q']
  for (const [index, guess] of guesses.entries()) {
    const expected = index === 4 ? ['guessed-3'] : []
    assert.deepEqual(idsOf(await search({ q: guess })), expected, guess)
    if (!/^[\d.]{6}/.test(guess)) assert.deepEqual(idsOf(await list(`q=${guess}`)), expected, guess)
  }
  for (const q of ['quentin@', '+4477']) {
    const refused = await search({ q })
    assert.equal(refused.status, 403, refused.text)
    assert.match(String(refused.headers['www-authenticate']), /insufficient_scope", scope="read:personal-data"/)
  }
  assert.deepEqual(idsOf(await search({ q: 'qu' }, owner)), ['guessed-0'], 'who sees it finds it')
  assert.deepEqual(idsOf(await search({ q: '+4477' }, owner)), ['guessed-1'])
  for (const index of names.keys()) await running.identity.management.deleteUser(`guessed-${index}`)
})

test('a page of a search continues behind its cursor', async () => {
  const first = await list('q=ada&limit=2')
  assert.deepEqual([idsOf(first), first.body.next], [['ada', 'ada_2'], 'ada_2'])
  assert.deepEqual(idsOf(await list(`q=ada&limit=2&cursor=${first.body.next}`)), ['adam', 'zoe'])
  assert.deepEqual(idsOf(await search({ q: 'ada', limit: 2, cursor: 'ada_2' })), ['adam', 'zoe'])
})

test('filters for plan, role, lock and verified address are combined', async () => {
  await running.identity.management.updateUser('adam', { locked: true })
  assert.deepEqual(idsOf(await list('plan=pro')), ['ada_2'])
  assert.deepEqual(idsOf(await list('role=editor')), ['zoe'])
  assert.deepEqual(idsOf(await list('locked=true')), ['adam'])
  assert.deepEqual(idsOf(await list('q=ada&verified=true')), ['zoe'])
  assert.deepEqual(idsOf(await list('q=ada&verified=false&locked=false')), ['ada', 'ada_2'])
  assert.deepEqual(idsOf(await list('plan=pro&role=editor')), [])
  await running.identity.management.updateUser('adam', { locked: false })
})

test('an address and a number find their user, however they are written, and stay masked', async () => {
  const byMail = await search({ email: ' ADA@people.EXAMPLE ' })
  assert.deepEqual(idsOf(byMail), ['ada'])
  assert.match(byMail.text, /A•••@People\.example/)
  for (const phone_number of ['+447700900123', '+44 7700 900123', '0044 (7700) 900-123'])
    assert.deepEqual(idsOf(await search({ phone_number })), ['ada'], phone_number)
  assert.deepEqual(idsOf(await search({ email: 'a@people.example' })), [], 'no part of an address')
  assert.deepEqual(idsOf(await search({ email: 'nobody@people.example' })), [])
})

test('an address of a request may hold neither a mail address nor a number', async () => {
  for (const q of ['ada@people.example', '+447700900123', '07700 900123', 'ada@']) {
    const refused = await list(`q=${encodeURIComponent(q)}`)
    assert.equal(refused.status, 400, q)
    assert.match(refused.text, /POST \/admin\/v1\/users\/search/)
  }
  for (const [payload, pointer] of [
    [{ email: 'ada' }, '/email'],
    [{ phone_number: '12345' }, '/phone_number'],
  ] as const) {
    const refused = await search(payload)
    assert.equal(refused.status, 400)
    assert.equal((refused.body.errors as { pointer: string }[])[0]?.pointer, pointer)
  }
  assert.equal((await list('email=ada@people.example')).status, 400, 'an unknown filter')
})

test('a sign-in leaves its time in the list, the user and the members of a role', async () => {
  const signedInAt = async () => (await call(running, owner, { method: 'GET', url: '/admin/v1/users/ada' })).body
  assert.equal((await signedInAt()).last_sign_in_at, undefined)
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), 'ada.lovelace', password)
  const at = new Date(running.clock.now()).toISOString()
  running.clock.advance(60_000)
  assert.equal((await signedInAt()).last_sign_in_at, at)
  const [found] = (await search({ email: 'ada@people.example' })).body.items as { last_sign_in_at?: string }[]
  assert.equal(found?.last_sign_in_at, at)
  await running.identity.management.endSession('ada', await onlySession('ada'))
  assert.equal((await signedInAt()).last_sign_in_at, at, 'also when the session has ended')
  const url = '/admin/v1/roles/gatehouse-owner/members'
  const [member] = (await call(running, owner, { method: 'GET', url })).body.items as { last_sign_in_at?: string }[]
  assert.ok(member?.last_sign_in_at)
})

const onlySession = async (user: string) =>
  (await postgresIdentityStore(running.database).sessions.listByUser(user, running.clock.now()))[0]?.id ??
  assert.fail('no session')

test('an export has every user that matches, one a line, and is recorded without addresses', async () => {
  const request = { method: 'POST', url: '/admin/v1/user-exports', requestId: 'request-export' }
  const { text, headers } = await call(running, owner, { ...request, payload: { q: 'ada' } })
  assert.match(headers['content-type'] ?? '', /^application\/x-ndjson/)
  const users = text.trimEnd().split('\n')
  assert.deepEqual(
    users.map((line) => (JSON.parse(line) as { id: string }).id),
    ['ada', 'ada_2', 'adam', 'zoe'],
  )
  const one = await call(running, owner, {
    ...request,
    requestId: 'request-export-one',
    payload: { email: 'ada@people.example' },
  })
  assert.equal(one.text.trimEnd().split('\n').length, 1)
  const named = { ...request, requestId: 'request-export-named', payload: { q: 'ada@people.example' } }
  assert.equal((await call(running, owner, named)).status, 200)
  for (const id of ['request-export-one', 'request-export-named']) {
    const trail = await call(running, owner, { method: 'GET', url: `/admin/v1/audit-events?request_id=${id}` })
    assert.match(trail.text, /users\.export/)
    assert.doesNotMatch(trail.text, /ada@/)
  }
})

test('an export is longer than a batch and complete', async () => {
  const values = Array.from({ length: 1_100 }, (_, index) => `bulk-${String(index).padStart(5, '0')}`)
  await running.database.query(
    `INSERT INTO identity.subject (id, kind, plan) SELECT id, 'user', 'bulk' FROM unnest($1::text[]) AS id`,
    [values],
  )
  await running.database.query(
    `INSERT INTO identity.account (id, username, password_changed_at, roles, claims, created_at, updated_at)
     SELECT id, id, 1, '{}', '{}', 1, 1 FROM unnest($1::text[]) AS id`,
    [values],
  )
  const { text } = await call(running, owner, {
    method: 'POST',
    url: '/admin/v1/user-exports',
    payload: { plan: 'bulk' },
  })
  const exported = text.trimEnd().split('\n')
  assert.deepEqual(
    exported.map((line) => (JSON.parse(line) as { id: string }).id),
    values,
  )
})
