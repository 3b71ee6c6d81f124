import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPerson, enrol, isSignedIn, TestApp } from '../../support/factors/factors.ts'
import { clients, getTokens, TestBrowser, webSecret } from '../../support/journey.ts'
import { administrators, call, consoleClient, tokenOf } from '../../support/management/administrators.ts'
import { takeMails } from '../../support/notices.ts'
import { issuer, type Running, setup } from '../../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({
    declared: { clients: [...clients, consoleClient], users: administrators },
    notify: async () => {},
    background: false,
    mfa: 'optional',
  })
})
after(() => running.close())

const url = (id: string) => `/admin/v1/users/${id}/factors`

test('an administrator sees the kinds of factors of a user, never a secret', async () => {
  const user = await createPerson(running)
  const token = await tokenOf(running, 'gatehouse-auditor')
  const before = await call(running, token, { method: 'GET', url: url(user[0]) })
  assert.deepEqual(before.body, { factors: [], recovery_codes: 0, remembered_devices: 0, must_enrol: false })
  await enrol(running, user)
  const { body, text } = await call(running, token, { method: 'GET', url: url(user[0]) })
  const factors = body.factors as { kind: string; created_at: string }[]
  assert.deepEqual([factors.map(({ kind }) => kind), body.recovery_codes], [['totp'], 10])
  assert.doesNotMatch(text, /secret|sealed|hash/)
  assert.equal((await call(running, token, { method: 'GET', url: url('nobody') })).status, 404)
})

test('a reset ends the sessions and has the user enrol at the next sign-in', async () => {
  const user = await createPerson(running)
  const { browser, codes } = await enrol(running, user)
  await takeMails(running.database)
  const token = await tokenOf(running, 'gatehouse-owner')
  assert.equal((await call(running, token, { method: 'DELETE', url: url(user[0]) })).status, 204)
  assert.ok(!(await isSignedIn(browser)))
  const mails = (await takeMails(running.database)).filter(({ user_id: id }) => id === user[0])
  assert.deepEqual(
    mails.map(({ event, data }) => [event, data.factor]),
    [['factor_removed', 'totp']],
  )
  const events = await call(running, token, {
    method: 'GET',
    url: `/admin/v1/audit-events?subject=${user[0]}&limit=200`,
  })
  assert.match(events.text, /"action":"factors.reset"/)
  const again = new TestBrowser(running)
  const page = await again.signIn(await again.get('/account'), ...user)
  assert.match(page.text, /action="\/login\/enrol"/)
  assert.ok(!(await isSignedIn(again)))
  await again.submit(page, { code: new TestApp(running, page).code() })
  assert.ok(await isSignedIn(again))
  const state = await call(running, token, { method: 'GET', url: url(user[0]) })
  assert.deepEqual([state.body.must_enrol, state.body.recovery_codes], [false, 10])
  assert.ok(codes.length > 0)
})

test('a reset voids remembered devices and sign-ins in progress', async () => {
  const user = await createPerson(running)
  const { app } = await enrol(running, user)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  await browser.submit(page, { code: app.nextCode(), remember: 'yes' })
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  const pending = new TestBrowser(running)
  const waiting = await pending.signIn(await pending.get('/account'), ...user)
  const token = await tokenOf(running, 'gatehouse-owner')
  await call(running, token, { method: 'DELETE', url: url(user[0]) })
  assert.equal((await pending.submit(waiting, { code: app.nextCode() })).status, 400)
  const enrols = await browser.signIn(await browser.get('/account'), ...user)
  assert.match(enrols.text, /action="\/login\/enrol"/)
})

test('a reset ends what a reset of the password ends: grants, API keys and mailed links', async () => {
  const user = await createPerson(running)
  const { browser } = await enrol(running, user)
  const { refresh_token = '' } = await getTokens(running, { browser })
  await running.identity.management.createApiKey({ owner: user[0], name: 'Script', scopes: [] })
  const token = await tokenOf(running, 'gatehouse-owner')
  await call(running, token, { method: 'POST', url: `/admin/v1/users/${user[0]}/mail`, payload: { kind: 'reset' } })
  const [mail] = (await takeMails(running.database)).filter(({ event }) => event === 'reset_password')
  const link = String(mail?.data.link).replace(issuer, '')
  assert.equal((await new TestBrowser(running).get(link)).status, 200)
  assert.equal((await call(running, token, { method: 'DELETE', url: url(user[0]) })).status, 204)
  const refresh = { grant_type: 'refresh_token', refresh_token, ...webSecret }
  assert.equal((await running.post('/token', refresh)).body.error, 'invalid_grant')
  assert.equal((await new TestBrowser(running).get(link)).status, 400)
  const rows = (table: string, column: string) =>
    running.database.query(`SELECT 1 FROM identity.${table} WHERE ${column} = $1`, [user[0]])
  for (const [table, column] of [
    ['api_key', 'owner'],
    ['refresh_family f JOIN identity.grant_record g ON g.id = f.grant_id', 'user_id'],
    ['remembered_device', 'user_id'],
    ['session', 'user_id'],
  ] as const)
    assert.equal((await rows(table, column)).rowCount, 0, table)
})

test('nobody resets the factors of an administrator with more authority, or their own', async () => {
  const operator = await tokenOf(running, 'gatehouse-operator')
  assert.equal((await call(running, operator, { method: 'DELETE', url: url('owner') })).status, 403)
  assert.equal((await call(running, operator, { method: 'DELETE', url: url('operator') })).status, 403)
  const support = await tokenOf(running, 'gatehouse-support')
  const user = await createPerson(running)
  assert.equal((await call(running, support, { method: 'DELETE', url: url(user[0]) })).status, 403)
})
