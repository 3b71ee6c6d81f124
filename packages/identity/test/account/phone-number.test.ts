import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import { postgresDatabase, sharedPostgres, testWith } from '@gatehouse/testing'
import type { NotifyRequest } from '../../src/index.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { clients, getTokens, hiddenFields, TestBrowser, users } from '../support/journey.ts'
import { takeMails, waitingMails } from '../support/notices.ts'
import { type Running, setup, type TestResponse } from '../support/setup.ts'

const password = 'four candles please'
const person = (id: string) => ({ id, password, email: `${id}@example.com`, email_verified: true })
const people = ['carol', 'dave', 'erin', 'frank', 'grace', 'heidi']
const options = {
  declared: { clients, users: [...users, ...people.map(person)] },
  background: false,
  notify: async () => {},
  sms: true,
}

let running: Running
let clock: ManualClock
before(async () => {
  clock = manualClock()
  running = await setup({ ...options, clock, ...attemptLimits({}, clock) })
})
after(() => running.close())
beforeEach(async () => {
  await running.database.query('DELETE FROM identity.message_count')
  // Every window of a limit has passed.
  clock.advance(2 * 86_400_000)
})

async function signedIn(user: string, at: Running = running): Promise<TestBrowser> {
  const browser = new TestBrowser(at)
  await browser.signIn(await browser.get('/account'), user, password)
  await takeMails(at.database)
  return browser
}

async function request(browser: TestBrowser, phone_number: string): Promise<TestResponse> {
  return browser.submit(await browser.get('/account/phone'), { phone_number })
}

async function sentCode(at: Running = running): Promise<NotifyRequest> {
  const [message, ...others] = await takeMails(at.database)
  assert.deepEqual(others, [])
  return message ?? assert.fail('no code was sent')
}

const claimsOf = async (user: string) => {
  const text = 'SELECT claims FROM identity.account WHERE id = $1'
  const { rows } = await running.database.query<{ claims: Record<string, unknown> }>(text, [user])
  return rows[0]?.claims
}

const wrongOf = (code: unknown) => (code === '000000' ? '000001' : '000000')

test('a number is set and verified by the code that was sent to it, and the address is notified', async () => {
  const browser = await signedIn('carol')
  assert.match((await request(browser, '020 7946')).text, /with its country code/)
  const page = await request(browser, '0044 (20) 7946-0123')
  const message = await sentCode()
  assert.deepEqual(
    [message.event, message.phone_number, message.email, message.data.host],
    ['phone_code', '+442079460123', undefined, 'localhost'],
  )
  assert.deepEqual(await claimsOf('carol'), {}, 'nothing is set by asking')
  const { code } = message.data
  assert.match((await browser.submit(page, { code: wrongOf(code) })).text, /This code is incorrect/)
  assert.match((await browser.submit(page, { code: String(code) })).text, /Phone number confirmed/)
  assert.deepEqual(await claimsOf('carol'), { phone_number: '+442079460123', phone_number_verified: true })
  const [notice, ...others] = await takeMails(running.database)
  assert.deepEqual(others, [])
  assert.deepEqual([notice?.event, notice?.email], ['phone_changed', 'carol@example.com'])
  assert.doesNotMatch(JSON.stringify(notice), /7946/, 'the mail does not name the whole number')
  const { rows } = await running.database.query(
    "SELECT 1 FROM identity.outbox WHERE kind = 'recipient' AND subject = 'carol'",
  )
  assert.ok(rows.length > 0, 'the notification service learns of the number')
  assert.equal((await browser.submit(page, { code: String(code) })).status, 400, 'the code was used')
  const tokens = await getTokens(running, { scope: 'openid phone', user: ['carol', password] })
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const { phone_number_verified } = (await running.http.inject({ url: '/userinfo', headers })).json()
  assert.equal(phone_number_verified, true)
  assert.match((await request(browser, '+442079460123')).text, /confirmed number already/)
})

test('a number is removed by its user, who is notified', async () => {
  const claims = { phone_number: '+442079460123', phone_number_verified: true, nickname: 'D' }
  await running.identity.management.updateUser('dave', { claims })
  const browser = await signedIn('dave')
  assert.match((await request(browser, '')).text, /Phone number removed/)
  assert.deepEqual(await claimsOf('dave'), { nickname: 'D' })
  const mails = await takeMails(running.database)
  assert.deepEqual(
    mails.map(({ event, data }) => [event, data.phone]),
    [['phone_changed', '']],
  )
  assert.equal((await request(browser, '')).status, 400, 'there is none to remove')
})

test('a code works in its own browser and session only, and for its own user', async () => {
  const browser = await signedIn('erin')
  const page = await request(browser, '+442079460001')
  const code = String((await sentCode()).data.code)
  const challenge = hiddenFields(page).challenge ?? ''
  const other = await signedIn('erin')
  const form_token = hiddenFields(await other.get('/account/phone')).form_token ?? ''
  assert.equal((await other.post('/account/phone/confirm', { form_token, challenge, code })).status, 400)
  const stranger = await signedIn('frank')
  const foreign = hiddenFields(await stranger.get('/account/phone')).form_token ?? ''
  assert.equal((await stranger.post('/account/phone/confirm', { form_token: foreign, challenge, code })).status, 400)
  assert.equal((await browser.submit(page, { challenge: 'x'.repeat(43), code })).status, 400)
  assert.equal((await browser.submit(page, { form_token: 'x', code })).status, 403)
  const later = new TestBrowser(running)
  later.cookies.set('gatehouse_browser', browser.cookies.get('gatehouse_browser') ?? '')
  const login = await later.signIn(await later.get('/account/phone'), 'erin', password)
  const token = hiddenFields(login).form_token ?? ''
  const inSession = { form_token: token, challenge, code }
  assert.equal((await later.post('/account/phone/confirm', inSession)).status, 400, 'the same browser, a new session')
  assert.deepEqual(await claimsOf('erin'), {})
  assert.match((await browser.submit(page, { code })).text, /Phone number confirmed/)
})

test('five wrong codes end a code, a new one ends the earlier, and ten minutes end both', async () => {
  const browser = await signedIn('frank')
  const first = await request(browser, '+442079460002')
  const { code } = (await sentCode()).data
  for (let n = 0; n < 5; n++) assert.equal((await browser.submit(first, { code: wrongOf(code) })).status, 400)
  assert.match((await browser.submit(first, { code: String(code) })).text, /expired/)
  const second = await request(browser, '+442079460002')
  const replaced = String((await sentCode()).data.code)
  const third = await request(browser, '+442079460003')
  const last = String((await sentCode()).data.code)
  assert.match((await browser.submit(second, { code: replaced })).text, /expired/)
  clock.advance(600_000)
  assert.match((await browser.submit(third, { code: last })).text, /expired/)
  assert.deepEqual(await claimsOf('frank'), {})
})

test('codes are limited for a user, and nothing is sent above the limit', async () => {
  const browser = await signedIn('grace')
  for (let n = 0; n < 3; n++) assert.equal((await request(browser, `+44207946100${n}`)).status, 200)
  await takeMails(running.database)
  const refused = await request(browser, '+442079461003')
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.deepEqual(await waitingMails(running.database), [])
})

test('codes are limited for one number and for a range of numbers, whoever asks (toll fraud)', async () => {
  const limits = attemptLimits({ 'phone-code-number': 2, 'phone-code-range': 3, 'phone-code-address': 100 }, clock)
  const limited = await setup({ ...options, clock, ...limits })
  const browsers = await Promise.all(['carol', 'dave', 'erin'].map((user) => signedIn(user, limited)))
  const ask = async (at: number, number: string) => (await request(browsers[at] ?? assert.fail(), number)).status
  assert.deepEqual([await ask(0, '+882130000001'), await ask(1, '+882130000001')], [200, 200])
  assert.equal(await ask(2, '+882130000001'), 429, 'the number')
  assert.equal(await ask(2, '+882130000002'), 200)
  assert.equal(await ask(0, '+882130009999'), 429, 'the range')
  assert.equal(await ask(1, '+882130010000'), 200, 'another range')
  await limited.close()
})

test('wrong codes are limited for a user across codes', async () => {
  const limited = await setup({ ...options, clock, ...attemptLimits({ 'phone-code-entry-day': 6 }, clock) })
  const browser = await signedIn('heidi', limited)
  const first = await request(browser, '+442079460004')
  const { code } = (await sentCode(limited)).data
  for (let n = 0; n < 5; n++) await browser.submit(first, { code: wrongOf(code) })
  const second = await request(browser, '+442079460004')
  const next = (await sentCode(limited)).data.code
  await browser.submit(second, { code: wrongOf(next) })
  assert.equal((await browser.submit(second, { code: String(next) })).status, 429)
  await limited.close()
})

test('without text messages the page is not offered', async () => {
  const without = await setup({ ...options, sms: false })
  const browser = await signedIn('carol', without)
  await without.identity.management.updateUser('carol', { claims: { phone_number: '+442079460123' } })
  const account = await browser.get('/account')
  assert.match(account.text, /\+442079460123/)
  assert.doesNotMatch(account.text, /\/account\/phone/)
  assert.equal((await browser.get('/account/phone')).status, 404)
  const { form_token = '' } = hiddenFields(account)
  assert.equal((await browser.post('/account/phone', { form_token, phone_number: '+15550100' })).status, 404)
  await without.close()
})

test('the page is for a recent sign-in', async () => {
  const browser = await signedIn('carol')
  clock.advance(5 * 60_000 + 1)
  assert.match((await browser.get('/account/phone')).text, /action="\/login"/)
})

testWith('postgresql', 'of ten who enter the right code at once, one sets the number', async () => {
  const server = await sharedPostgres()
  const database = await postgresDatabase(server, 12)
  const own = await setup({ ...options, clock }, database)
  const browser = await signedIn('carol', own)
  const page = await request(browser, '+442079460005')
  const code = String((await sentCode(own)).data.code)
  const answers = await Promise.all(Array.from({ length: 10 }, () => browser.submit(page, { code })))
  assert.equal(answers.filter(({ text }) => /Phone number confirmed/.test(text)).length, 1)
  assert.equal((await takeMails(database)).length, 1, 'one notice')
  const { phoneChanges } = postgresIdentityStore(database)
  const cleared = await Promise.all([1, 2, 3].map(() => phoneChanges.clear('carol', [], 0)))
  assert.equal(cleared.filter(Boolean).length, 1)
  await own.close()
  await database.close()
  await server.stop()
})
