import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyRing, manualClock, randomToken, Secret, seal } from '@gatehouse/kit'
import { type AttemptLimitName, attemptLimitPolicies } from '../../src/index.ts'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { attemptLimits } from '../support/attempt-limits.ts'
import { asksForFactor, enrol, isSignedIn } from '../support/factors/factors.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { encryptionKey, setup, type TestResponse } from '../support/setup.ts'

async function setupLimits(smaller: Partial<Record<AttemptLimitName, number>> = {}) {
  const clock = manualClock()
  const running = await setup({
    declared: { clients, users },
    mfa: 'optional',
    clock,
    ...attemptLimits(smaller, clock),
  })
  const enrolled = await enrol({ ...running, clock })
  clock.advance(60_000)
  const begin = async (browser = new TestBrowser(running)) => {
    const page = await browser.signIn(await browser.get('/account'))
    assert.ok(asksForFactor(page), page.text)
    return { browser, page }
  }
  return { running, clock, ...enrolled, begin, [Symbol.asyncDispose]: () => running.close() }
}

const wrongCode = { code: '000000' }
const wrongRecovery = { recovery_code: 'aaaa-aaaa-aaaa-aaaa' }

test('five wrong codes end the sign-in, whose first way begins again', async () => {
  await using it = await setupLimits()
  const { browser, page } = await it.begin()
  for (let turn = 0; turn < 5; turn++) assert.equal((await browser.submit(page, wrongCode)).status, 401)
  const ended = await browser.submit(page, { code: it.app.code() })
  assert.equal(ended.status, 429, 'the correct code too, so that a guess learns nothing')
  assert.match(ended.text, /action="\/login"/)
  const again = await browser.signIn(ended)
  await browser.follow(await browser.submit(again, { code: it.app.code() }))
  assert.ok(await isSignedIn(browser))
})

test('ten wrong codes lock the factor step for 15 minutes, and the lock skips nothing', async () => {
  await using it = await setupLimits()
  for (let turn = 0; turn < 10; turn += 5) {
    const { browser, page } = await it.begin()
    for (let more = 0; more < 5; more++) await browser.submit(page, more % 2 === 0 ? wrongCode : wrongRecovery)
  }
  const { browser, page } = await it.begin()
  for (const input of [{ code: it.app.code() }, { recovery_code: it.codes[0] ?? '' }] as Record<string, string>[]) {
    const refused = await browser.submit(page, input)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers['retry-after']) > 0)
    assert.ok(asksForFactor(refused))
  }
  assert.ok(!(await isSignedIn(browser)))
  it.clock.advance(15 * 60_000)
  const later = await it.begin()
  await later.browser.submit(later.page, { recovery_code: it.codes[0] ?? '' })
  assert.ok(await isSignedIn(later.browser), 'the refused recovery code was not used up')
})

test('guesses from unknown devices do not lock the owner out of a known one', async () => {
  await using it = await setupLimits({ factor: 2 })
  const thief = await it.begin()
  for (let turn = 0; turn < 3; turn++) await thief.browser.submit(thief.page, wrongCode)
  assert.equal((await thief.browser.submit(thief.page, { code: it.app.code() })).status, 429)
  it.browser.cookies.delete('gatehouse_session')
  const { browser, page } = await it.begin(it.browser)
  await browser.submit(page, { code: it.app.code() })
  assert.ok(await isSignedIn(browser))
})

test('a known device keeps its count, whatever browser cookie its own comes with', async () => {
  await using it = await setupLimits({ factor: 2 })
  const known = it.browser.cookies.get('gatehouse_device') ?? ''
  const statuses: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const thief = new TestBrowser(it.running)
    thief.cookies.set('gatehouse_browser', randomToken()).set('gatehouse_device', known)
    const { browser, page } = await it.begin(thief)
    statuses.push((await browser.submit(page, wrongCode)).status)
  }
  assert.deepEqual(statuses, [401, 401, 429, 429])
})

test('a known device keeps its count when its user signs in again', async () => {
  await using it = await setupLimits({ factor: 2 })
  const attempt = async (input: Record<string, string>) => {
    it.browser.cookies.delete('gatehouse_session')
    const { browser, page } = await it.begin(it.browser)
    return (await browser.submit(page, input)).status
  }
  assert.equal(await attempt(wrongCode), 401)
  assert.equal(await attempt({ code: it.app.code() }), 303)
  assert.equal(await attempt(wrongCode), 401)
  assert.equal(await attempt(wrongCode), 429)
})

test('a device whose cookie names none counts with the unknown ones', async () => {
  await using it = await setupLimits({ factor: 1 })
  const alice = await postgresIdentityStore(it.running.database).users.find('alice')
  const known = JSON.stringify(['alice', alice?.credentialVersion])
  it.browser.cookies.set('gatehouse_device', seal(known, KeyRing.of(new Secret(encryptionKey)), 'known device'))
  it.browser.cookies.delete('gatehouse_session')
  const { browser, page } = await it.begin(it.browser)
  assert.equal((await browser.submit(page, wrongCode)).status, 401)
  const unknown = await it.begin()
  assert.equal((await unknown.browser.submit(unknown.page, wrongCode)).status, 429)
})

test('wrong codes of a day are limited beyond the lock', async () => {
  await using it = await setupLimits({ 'factor-day': 3, factor: 2, 'factor-challenge': 100 })
  const statuses: number[] = []
  for (let turn = 0; turn < 6; turn++) {
    const { browser, page } = await it.begin()
    statuses.push((await browser.submit(page, wrongCode)).status)
    it.clock.advance(16 * 60_000)
  }
  assert.deepEqual(statuses, [401, 401, 401, 429, 429, 429])
})

test('correct codes and malformed ones are not counted', async () => {
  await using it = await setupLimits({ factor: 1, 'factor-day': 1 })
  for (let turn = 0; turn < 3; turn++) {
    const { browser, page } = await it.begin()
    for (const code of ['', '12345', 'abcdef', '1234567'])
      assert.equal((await browser.submit(page, { code })).status, 401, code)
    it.clock.advance(30_000)
    await browser.submit(page, { code: it.app.code() })
    assert.ok(await isSignedIn(browser))
  }
})

test('of many codes at once no more are compared than the limit allows', async () => {
  await using it = await setupLimits()
  const { browser, page } = await it.begin()
  const codes = Array.from({ length: 30 }, (_, index) => String(index).padStart(6, '0'))
  const answers = await Promise.all(codes.map((code) => browser.submit(page, { code })))
  const count = (wanted: number) => answers.filter(({ status }: TestResponse) => status === wanted).length
  assert.deepEqual([count(401), count(429)], [5, 25])
})

test('every attempt limit fails closed, except those on load, which stop no guessing', () => {
  const local = Object.entries(attemptLimitPolicies).filter(([, { failureMode }]) => failureMode === 'local')
  assert.deepEqual(
    local.map(([name]) => name.replace(/-.*/, '')).filter((name, nth, all) => all.indexOf(name) === nth),
    ['passkey', 'provider', 'registration', 'invitation', 'domain', 'token', 'introspect', 'revoke', 'par', 'device'],
  )
})
