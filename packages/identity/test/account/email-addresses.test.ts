import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { type Running, service, serviceToken, setup } from '../support/setup.ts'

let running: Running
before(async () => {
  const declared = { clients: [...clients, { ...service, scopes: ['admin:users'] }], users }
  running = await setup({ declared, features: { registration: true }, notify: async () => {} })
})
after(() => running.close())

const noAddresses = [
  'attacker@evil.com,x.corp.com',
  'attacker@evil.com;x@corp.com',
  'attacker@evil.com x@corp.com',
  'Corp <attacker@evil.com>',
  '<attacker@evil.com>',
  '"a,b"@evil.com',
  'attacker@evil.com(x.corp.com)',
  'group:attacker@evil.com;',
  'attacker@[127.0.0.1]',
  'attacker@evil.com\r\nBcc: x@corp.com',
  'attacker@evil',
  `${'a'.repeat(65)}@evil.com`,
]

for (const email of noAddresses) {
  test(`${JSON.stringify(email.slice(0, 40))} is rejected as an email address everywhere`, async () => {
    const browser = new TestBrowser(running)
    const registered = await browser.submit(await browser.get('/register'), { email })
    assert.equal(registered.status, 400)
    assert.match(registered.text, /valid email address/)
    const authorization = `Bearer ${await serviceToken(running)}`
    const call = (method: 'POST' | 'PATCH', url: string, payload: object) =>
      running.http.inject({ method, url, payload, headers: { authorization } })
    const responses = [
      await call('POST', '/admin/v1/users', { id: 'mallory', email }),
      await call('PATCH', '/admin/v1/users/bob', { email }),
    ]
    for (const response of responses) {
      assert.equal(response.statusCode, 400)
      assert.equal(response.json().errors[0].pointer, '/email')
    }
    const declared = { users: [{ id: 'eve', email }] }
    await assert.rejects(setup({ declared }), /user eve: email must be one email address/)
  })
}

test('user claims cannot contain the email address, which has its own member', async () => {
  const authorization = `Bearer ${await serviceToken(running)}`
  for (const name of ['email', 'email_verified', 'sub']) {
    const payload = { id: 'mallory', claims: { [name]: 'x@corp.com' } }
    const response = await running.http.inject({
      method: 'POST',
      url: '/admin/v1/users',
      payload,
      headers: { authorization },
    })
    assert.equal(response.statusCode, 400, name)
  }
})

test('a registered email address is stored in lower case and matched without case', async (t) => {
  const link = Promise.withResolvers<string>()
  const own = await setup({
    features: { registration: true },
    notify: async ({ data }) => link.resolve(String(data.link).replace('http://localhost:8080', '')),
  })
  t.after(() => own.close())
  const browser = new TestBrowser(own)
  await browser.submit(await browser.get('/register'), { email: ' New.Person@Example.COM ' })
  await browser.submit(await browser.get(await link.promise), { name: 'New', new_password: 'a long password' })
  const made = (await own.identity.management.listUsers('', 10)).map(({ email }) => email)
  assert.ok(made.includes('new.person@example.com'))
  const login = await browser.get('/account')
  assert.match((await browser.signIn(login, 'NEW.person@example.com', 'a long password')).text, /Your account/)
})
