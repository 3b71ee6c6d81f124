import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { TestBrowser } from '../support/journey.ts'
import {
  administrators,
  call,
  clientToken,
  consoleClient,
  managementRoutes,
  tokenOf,
} from '../support/management/administrators.ts'
import { type Running, setup } from '../support/setup.ts'

const secret = 'secret-0123456789abcdef'
const password = 'a long and quiet password'
const confidential = (client_id: string, ...scopes: string[]) => ({ client_id, client_secret: secret, scopes })

let running: Running
let auditor: string
let support: string
let writer: string
let reader: string
before(async () => {
  running = await setup({
    declared: {
      clients: [
        consoleClient,
        confidential('writer', 'admin:users'),
        confidential('reader', 'read:accounts', 'read:audit', 'read:personal-data'),
      ],
      users: administrators,
    },
  })
  auditor = await tokenOf(running, 'gatehouse-auditor')
  support = await tokenOf(running, 'gatehouse-support')
  writer = await clientToken(running, 'writer', secret)
  reader = await clientToken(running, 'reader', secret)
})
after(() => running.close())

const send = (token: string, method: string, path: string, payload?: object) =>
  call(running, token, { method, url: `/admin/v1/${path}`, ...(payload === undefined ? {} : { payload }) })

const word = fc.stringMatching(/^[A-Z][a-z]{6,12}$/)
const lower = fc.stringMatching(/^[a-z]{6,12}$/)
const digits = fc.stringMatching(/^[1-9]\d{9}$/)

/** A person with a value in every member that identifies them. */
const person = fc
  .record({ first: word, last: word, mailbox: lower, login: lower, phone: digits, street: word, device: word })
  .map(({ first, last, mailbox, login, phone, street, device }) => ({
    email: `${mailbox}@mail.example`,
    username: `${login}@login.example`,
    userAgent: `${device}-Phone/7.1 (owner ${first})`,
    claims: {
      name: `${first} ${last}`,
      given_name: first,
      family_name: last,
      nickname: `${first}-nick`,
      preferred_username: `${first}.${last}`,
      profile: `https://people.example/${last}`,
      picture: `https://people.example/${last}.png`,
      website: `https://${last.toLowerCase()}.example/`,
      gender: `gender of ${first}`,
      birthdate: '1987-06-05',
      phone_number: `+44${phone}`,
      address: { formatted: `1 ${street} Street`, postal_code: `PC ${phone}` },
      locale: 'en-GB',
      zoneinfo: 'Europe/London',
      employee: { number: `E${phone}`, desks: [`desk of ${last}`] },
    },
    values: [first, last, mailbox, login, phone, street, device, '1987-06-05', '127.0.0.1'],
  }))

/** The response of every GET route, with the user's id in its path where it has one. */
async function readEverything(token: string, id: string): Promise<Map<string, string>> {
  const responses = new Map<string, string>()
  for (const route of managementRoutes(running).filter((one) => one.startsWith('GET '))) {
    const role = 'gatehouse-support'
    const url = route
      .slice('GET /admin/v1/'.length)
      .replace(/:user_id|:id/, id)
      .replace(':role', role)
    responses.set(route, (await send(token, 'GET', url)).text)
  }
  return responses
}

const leaked = (text: string, values: readonly string[]) =>
  values.filter((value) => text.toLowerCase().includes(value.toLowerCase()))

test('masked responses contain no personal value of a user', async () => {
  let count = 0
  await fc.assert(
    fc.asyncProperty(person, async ({ userAgent, values, ...members }) => {
      const id = `someone-${++count}`
      const made = await send(writer, 'POST', 'users', { id, password, ...members })
      assert.equal(made.status, 201, made.text)
      await running.identity.management.changeRole(id, { role: 'gatehouse-support', granted: true })
      const browser = new TestBrowser(running, { 'user-agent': userAgent })
      await browser.signIn(await browser.get('/account'), members.username, password)
      await running.identity.management.changeRole(id, { role: 'gatehouse-support', granted: false })
      const changed = await send(writer, 'PATCH', `users/${id}`, { claims: { ...members.claims, locale: 'de' } })
      assert.equal(changed.status, 200, changed.text)
      assert.deepEqual([leaked(made.text, values), leaked(changed.text, values)], [[], []])
      for (const token of [auditor, support, writer]) {
        for (const [route, text] of await readEverything(token, id))
          assert.deepEqual(leaked(text, values), [], `${route} returned ${text}`)
      }
      const seen = [...(await readEverything(reader, id)).values()].join('\n')
      const missing = values.filter((value) => !seen.includes(value))
      assert.deepEqual(missing, [], 'read:personal-data shows every value')
      await running.identity.management.deleteUser(id)
    }),
    { numRuns: 8 },
  )
})

test('a masked user stays recognizable by address, phone number and initials', async () => {
  await running.identity.management.createUser({
    id: 'ada',
    password,
    email: 'ada@people.example',
    claims: { name: 'Ada Lovelace', phone_number: '+447700900123', locale: 'en-GB', birthdate: '1815-12-10' },
  })
  const { body } = await send(support, 'GET', 'users/ada')
  assert.deepEqual(
    [body.email, body.username, body.claims],
    ['a•••@people.example', 'ada', { name: 'A. L.', phone_number: '+44•••123', locale: 'en-GB', birthdate: '•••' }],
  )
})

test('single members are revealed with a reason, which the audit trail keeps', async () => {
  const payload = { fields: ['email', 'birthdate', 'gender'], reason: 'requested by telephone, case 4711' }
  const response = await send(support, 'POST', 'users/ada/reveal', payload)
  assert.deepEqual([response.status, response.body], [200, { email: 'ada@people.example', birthdate: '1815-12-10' }])
  const trail = await send(auditor, 'GET', 'audit-events?actor=support&order=desc&limit=1')
  const [event] = trail.body.items as Record<string, unknown>[]
  assert.deepEqual(
    [event?.action, event?.role, event?.after],
    ['users.reveal', 'gatehouse-support', { fields: payload.fields, reason: payload.reason }],
  )
  for (const wrong of [{ fields: ['email'] }, { fields: ['password'], reason: 'why' }, { fields: [], reason: 'why' }])
    assert.equal((await send(support, 'POST', 'users/ada/reveal', wrong)).status, 400)
  assert.equal((await send(auditor, 'POST', 'users/ada/reveal', payload)).status, 403)
  assert.equal((await send(support, 'POST', 'users/nobody/reveal', payload)).status, 404)
})
