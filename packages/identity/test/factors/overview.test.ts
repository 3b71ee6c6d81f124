import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { asksForFactor, createPerson, enrol, isSignedIn, shownCodes, TestApp } from '../support/factors/factors.ts'
import { clients, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { takeMails } from '../support/notices.ts'
import { type Running, setup } from '../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({
    declared: { clients, users },
    mfa: 'optional',
    notify: async () => {},
    background: false,
  })
})
after(() => running.close())

const act = async (browser: TestBrowser, input: Record<string, string>) =>
  browser.post('/account/factors', { ...hiddenFields(await browser.get('/account/factors')), ...input })

const events = async () => (await takeMails(running.database)).map(({ event }) => event).sort()

test('the page shows the app, how many recovery codes are left, and the remembered devices', async () => {
  const user = await createPerson(running)
  const { app, codes } = await enrol(running, user)
  const browser = new TestBrowser(running, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' })
  const page = await browser.signIn(await browser.get('/account/factors'), ...user)
  const shown = await browser.follow(await browser.submit(page, { code: app.nextCode(), remember: 'yes' }))
  assert.match(shown.text, /Unused codes: 10/)
  assert.match(shown.text, /Firefox · Linux/)
  assert.ok(codes.every((code) => !shown.text.includes(code)))
  assert.doesNotMatch(shown.text, /class="secret"/)
})

test('few recovery codes left are pointed out', async () => {
  const user = await createPerson(running)
  const { browser, codes } = await enrol(running, user)
  for (const code of codes.slice(0, 7)) {
    const other = new TestBrowser(running)
    await other.submit(await other.signIn(await other.get('/account'), ...user), { recovery_code: code })
  }
  assert.match((await browser.get('/account/factors')).text, /You have few recovery codes left/)
})

test('new recovery codes make the old ones void', async () => {
  const user = await createPerson(running)
  const { browser, codes } = await enrol(running, user)
  const fresh = shownCodes(await act(browser, { action: 'new_codes' }))
  assert.equal(fresh.length, 10)
  const other = new TestBrowser(running)
  const page = await other.signIn(await other.get('/account'), ...user)
  assert.equal((await other.submit(page, { recovery_code: codes[0] ?? '' })).status, 401)
  await other.submit(page, { recovery_code: fresh[0] ?? '' })
  assert.ok(await isSignedIn(other))
})

test('changes of factors need a recent sign-in, and forgetting a device does not', async () => {
  const user = await createPerson(running)
  const { browser, app } = await enrol(running, user)
  running.clock.advance(5 * 60_000 + 1)
  for (const action of ['remove_app', 'new_codes'])
    assert.match((await act(browser, { action })).text, /action="\/login"/, action)
  const login = await browser.get('/account/factors/app')
  assert.match(login.text, /action="\/login"/)
  assert.equal((await act(browser, { action: 'forget_devices' })).status, 303)
  const factor = await browser.signIn(login, ...user)
  assert.ok(asksForFactor(factor), factor.text)
  const shown = await browser.follow(await browser.submit(factor, { code: app.nextCode() }))
  assert.match(shown.text, /class="secret"/)
})

test('a replaced app’s codes are refused, and the new app’s accepted', async () => {
  const user = await createPerson(running)
  const { browser, app: old } = await enrol(running, user)
  const page = await browser.get('/account/factors/app')
  const app = new TestApp(running, page)
  assert.equal((await browser.submit(page, { code: '000000' })).status, 400)
  assert.equal((await browser.submit(page, { code: app.code() })).headers.location, '/account/factors')
  const other = new TestBrowser(running)
  const factor = await other.signIn(await other.get('/account'), ...user)
  assert.equal((await other.submit(factor, { code: old.nextCode() })).status, 401)
  await other.submit(factor, { code: app.code() })
  assert.ok(await isSignedIn(other))
})

test('removing the last factor removes the recovery codes, and the next sign-in asks for none', async () => {
  const user = await createPerson(running)
  const { browser } = await enrol(running, user)
  assert.match((await act(browser, { action: 'remove_app' })).text, /Authenticator app removed/)
  assert.equal((await running.identity.management.listSessions(user[0])).length, 1)
  const { rows } = await running.database.query('SELECT 1 FROM identity.recovery_code WHERE user_id = $1', [user[0]])
  assert.equal(rows.length, 0)
  const other = new TestBrowser(running)
  await other.signIn(await other.get('/account'), ...user)
  assert.ok(await isSignedIn(other))
})

test('a forgotten device is asked for the factor again, and only its own user forgets it', async () => {
  const [user, stranger] = [await createPerson(running), await createPerson(running)]
  const { app } = await enrol(running, user)
  const { browser: other } = await enrol(running, stranger)
  const browser = new TestBrowser(running)
  await browser.submit(await browser.signIn(await browser.get('/account'), ...user), {
    code: app.nextCode(),
    remember: 'yes',
  })
  const page = await browser.get('/account/factors')
  const device_id = /name="device_id" value="([^"]+)"/.exec(page.text)?.[1] ?? assert.fail(page.text)
  await act(other, { action: 'forget_device', device_id })
  assert.match((await browser.get('/account/factors')).text, new RegExp(device_id))
  await act(browser, { action: 'forget_device', device_id: 'not a device' })
  await act(browser, { action: 'forget_device', device_id })
  await browser.submit(await browser.get('/end_session'), { decision: 'leave' })
  assert.ok(asksForFactor(await browser.signIn(await browser.get('/account'), ...user)))
})

test('an unconfirmed secret counts for nothing, and expires', async () => {
  const user = await createPerson(running)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account/factors/app'), ...user)
  const other = new TestBrowser(running)
  await other.signIn(await other.get('/account'), ...user)
  assert.ok(await isSignedIn(other))
  running.clock.advance(4 * 60_000)
  const second = await browser.get('/account/factors/app')
  running.clock.advance(60_000 - 1)
  assert.equal((await browser.submit(second, { code: '000000' })).status, 400)
  running.clock.advance(6 * 60_000)
  const again = await browser.signIn(await browser.get('/account/factors/app'), ...user)
  const { enrolment = '' } = hiddenFields(page)
  const late = await browser.post('/account/factors/app', {
    ...hiddenFields(again),
    enrolment,
    code: new TestApp(running, page).code(),
  })
  assert.equal(late.status, 400)
  assert.match(late.text, /has expired/)
})

test('forms of other sites are refused', async () => {
  const { browser } = await enrol(running, await createPerson(running))
  for (const path of ['/account/factors', '/account/factors/app', '/login/factor', '/login/enrol'])
    assert.equal((await browser.post(path, { action: 'remove_app', form_token: 'forged' })).status, 403, path)
})

test('each change is mailed to its user once, and audited', async () => {
  const user = await createPerson(running)
  await events()
  const { browser, codes, app } = await enrol(running, user)
  assert.deepEqual(await events(), ['factor_added', 'new_device'])
  await act(browser, { action: 'new_codes' })
  assert.deepEqual(await events(), ['recovery_codes_regenerated'])
  assert.ok(codes.length > 0)
  const other = new TestBrowser(running)
  await other.submit(await other.signIn(await other.get('/account'), ...user), {
    code: app.nextCode(),
    remember: 'yes',
  })
  assert.deepEqual(await events(), ['device_remembered', 'new_device'])
  await act(browser, { action: 'remove_app' })
  assert.deepEqual(await events(), ['factor_removed'])
  const { rows } = await running.database.query<{ type: string }>(
    "SELECT type FROM identity.audit_event WHERE subject = $1 AND type <> 'login' AND type <> 'management' ORDER BY at, id",
    [user[0]],
  )
  assert.deepEqual(
    rows.map(({ type }) => type),
    ['factor_added', 'recovery_codes_created', 'device_remembered', 'factor_removed'],
  )
})
