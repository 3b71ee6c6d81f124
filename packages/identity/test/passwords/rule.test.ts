import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import fc from 'fast-check'
import type { NotifyRequest } from '../../src/index.ts'
import { PasswordPolicy } from '../../src/passwords/rule.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { service, serviceToken, setup } from '../support/setup.ts'

const strict = new PasswordPolicy({}, 'Gatehouse')
const lenient = new PasswordPolicy({ minLength: 8 }, 'Gatehouse')
const alice = { username: 'alice', email: 'alice.adams@example.com' }

test('a password has at least 15 characters unless min_length is set from 8 to 64', () => {
  assert.equal(strict.findFault('tfzkqpwmxbvnrd', alice), 'short')
  assert.equal(strict.findFault('tfzkqpwmxbvnrdy', alice), undefined)
  assert.equal(lenient.findFault('tfzkqpwm', alice), undefined)
  for (const minLength of [7, 65, 8.5, Number.NaN]) {
    assert.throws(() => new PasswordPolicy({ minLength }, 'Gatehouse'), StartError)
  }
})

for (const [what, password, fault] of [
  ['a common password', 'Password1', 'common'],
  ['a common password with digits and signs behind it', 'Dragon!!2026!!', 'common'],
  ['a common password with spaces in it', 'foot ball', 'common'],
  ['a common password repeated', 'monkeymonkeymonkey', 'common'],
  ['a sign repeated', 'aaaaaaaaaaaaaaaaaaaa', 'common'],
  ['a full-width spelling of a common password', 'ｐａｓｓｗｏｒｄ', 'common'],
  ['the name of the product', 'Gatehouse-2026', 'context'],
  ['the user name and the product', 'alice@GATEHOUSE!', 'context'],
  ["the address's local part, spelled otherwise", 'Alice_Adams-99', 'context'],
  ['a phrase with the user name in it', 'the sorrows of alice', undefined],
  ['64 letters and spaces', 'a quiet river runs below the old stone bridge near our first hom', undefined],
  ['signs alone', '!$)}{%/?[+&~#*=;', undefined],
  ['fewer characters than 8 code points, though more units', '🂡🂢🂣🂤🂥🂦🂧', 'short'],
  ['257 characters', `quiet river ${'x'.repeat(245)}`, 'long'],
] as const) {
  test(`${what} is ${fault === undefined ? 'accepted' : 'rejected'} as a password`, () => {
    assert.equal(lenient.findFault(password, alice), fault)
  })
}

test('a generated password is always accepted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 64 }), (minLength) => {
      const rule = new PasswordPolicy({ minLength }, 'Gatehouse')
      assert.equal(rule.findFault(rule.generate(), alice), undefined)
    }),
    { numRuns: 300 },
  )
})

test('a common password is rejected with a reason wherever one is set', async (t) => {
  const mails: NotifyRequest[] = []
  const mailed = Promise.withResolvers<NotifyRequest>()
  const running = await setup({
    declared: { clients: [...clients, { ...service, scopes: ['admin:users'] }], users },
    features: { registration: true },
    notify: async (request) => {
      mails.push(request)
      if (request.event === 'confirm_registration') mailed.resolve(request)
    },
  })
  t.after(() => running.close())
  const reason = /This password is too common/
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'))
  const change = await browser.get('/account/password')
  const changed = await browser.submit(change, { old_password: 'correct horse', new_password: 'password123' })
  assert.match(changed.text, reason)
  await browser.submit(await browser.get('/register'), { email: 'new@example.com' })
  const link = String((await mailed.promise).data.link).replace('http://localhost:8080', '')
  const registered = await browser.submit(await browser.get(link), { name: 'New', new_password: 'password123' })
  assert.match(registered.text, reason)
  const authorization = `Bearer ${await serviceToken(running)}`
  const call = (method: 'POST' | 'PUT', url: string, payload: object) =>
    running.http.inject({ method, url, payload, headers: { authorization } })
  const made = await call('POST', '/admin/v1/users', { id: 'new', password: 'password123' })
  const set = await call('PUT', '/admin/v1/users/alice/password', { password: 'gatehouse-alice' })
  assert.deepEqual([made.statusCode, set.statusCode], [422, 422])
  assert.deepEqual(
    [made, set].map((response) => response.json().errors[0]),
    [
      { pointer: '/password', detail: 'must not be a common password' },
      { pointer: '/password', detail: 'must not consist of the user name, the email address or the product name' },
    ],
  )
  await assert.rejects(running.identity.management.setPassword('alice', 'password123'), /common password/)
  const declared = { users: [{ id: 'eve', password: 'password123' }] }
  await assert.rejects(setup({ declared }), /user eve: password must not be a common password/)
})

test('a password set before the rule became stricter still signs in', async (t) => {
  const first = await setup({ declared: { users: [] } })
  t.after(() => first.close())
  await first.identity.management.createUser({ id: 'old', password: 'eight or so' })
  const second = await setup({ declared: { users: [] }, passwords: { minLength: 15 } }, first.database)
  t.after(() => second.close())
  const browser = new TestBrowser(second)
  assert.match((await browser.signIn(await browser.get('/account'), 'old', 'eight or so')).text, /Your account/)
})

test('the whole password is verified, even at the maximum length', async (t) => {
  const maximal = `quiet river ${'y'.repeat(244)}`
  const running = await setup({ declared: { users: [{ id: 'alice', password: maximal }] } })
  t.after(() => running.close())
  const browser = new TestBrowser(running)
  const login = await browser.get('/account')
  assert.equal((await browser.submit(login, { username: 'alice', password: `${maximal}z` })).status, 401)
  assert.equal((await browser.submit(login, { username: 'alice', password: maximal.slice(0, 255) })).status, 401)
  assert.equal((await browser.submit(login, { username: 'alice', password: maximal })).status, 303)
})
