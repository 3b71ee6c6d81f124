import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Managed, type Person, setupManagement, type World } from '../support/management.ts'
import { cases, methodOf } from '../support/routes.ts'

/**
 * What cannot be undone, reaches many people, switches delivery off or hands data out. The value says what makes it so; a
 * route that is added is either here, or works with an old sign-in.
 */
const dangerous: Readonly<Record<string, string>> = {
  'POST /v1/notify/bulk': 'it reaches up to 10,000 people',
  'POST /v1/scheduled': 'it sends when nobody looks, long after the session',
  'POST /v1/dead-letters/replay': 'it reaches all that match',
  'POST /v1/dead-letters/discard': 'it cannot be undone',
  'DELETE /v1/dead-letters/:id': 'it cannot be undone',
  'PUT /v1/providers/order': 'it decides who reads every message',
  'POST /v1/providers/:name/pause': 'it switches delivery off',
  'POST /v1/providers/:name/test': 'it sends to any address',
  'PUT /v1/event-types/:event': 'it switches channels off, and sensitive data on',
  'DELETE /v1/event-types/:event': 'it switches delivery off',
  'PUT /v1/templates/:template_id/:channel/:locale': 'what is published is what everybody gets',
  'DELETE /v1/templates/:template_id/:channel/:locale': 'it switches delivery off',
  'POST /v1/templates/:template_id/:channel/:locale/publish': 'what is published is what everybody gets',
  'POST /v1/templates/:template_id/test': 'it sends any words to anybody, past preferences and caps',
  'PUT /v1/recipients/:user_id': 'it decides who reads the messages of a user',
  'PUT /v1/recipients': 'it decides who reads the messages of many',
  'DELETE /v1/recipients/:user_id': 'it switches delivery off',
  'PUT /v1/users/:id/choices': 'it lifts suppressions of somebody else',
  'PUT /v1/users/:id/choices/:event': 'it lifts suppressions of somebody else',
  'PATCH /v1/users/:id/choices/:event': 'it lifts suppressions of somebody else',
  'PUT /v1/users/:id/preferences': 'it switches channels off for somebody else',
  'PUT /v1/users/:id/preferences/:event_type': 'it switches channels off for somebody else',
  'DELETE /v1/users/:id/preferences/:event_type': 'it switches channels on for somebody else',
  'DELETE /v1/users/:id/devices/:device_id': 'it switches delivery off for somebody else',
  'POST /v1/suppressions': 'it switches delivery off',
  'PUT /v1/users/:id/devices/:device_id': 'it adds a reader of the messages of somebody else',
  'DELETE /v1/suppressions': 'it sends to those who do not want it',
  'DELETE /v1/suppressions/:suppression_id': 'it sends to those who do not want it',
  'DELETE /v1/users/:id/suppressions/:suppression_id': 'it sends to those who do not want it',
  'GET /v1/users/:id/data': 'it hands out all that is known of a user',
  'DELETE /v1/users/:id/data': 'it cannot be undone',
}
const scopes = 'admin:notifications admin:privacy write:notifications'
const person: Person = {
  email: 'zelda@example.com',
  phone: '+447700900123',
  token: 'the-token-of-zelda',
  name: 'Zelda',
  value: 'a present',
  dedupKey: 'the-key',
}
const ask = (s: Managed, route: string, world: World, token: string) => {
  const { path, body } = cases[route] ?? assert.fail(route)
  return s.call(methodOf(route), path(world), body?.(world), token)
}

describe('a person whose sign-in is older than ten minutes', () => {
  test('is asked to sign in again by what is dangerous, and by nothing else', async (t) => {
    const s = await setupManagement()
    t.after(s.close)
    const world = await s.worldOf(person)
    for (const [route, why] of Object.entries(dangerous)) {
      const { status, headers, body } = await ask(s, route, world, `user:olga long-ago ${scopes}`)
      assert.equal(status, 401, `${route}: ${why}: ${JSON.stringify(body)}`)
      const challenge = String(headers['www-authenticate'])
      assert.match(challenge, /error="insufficient_user_authentication", max_age="600"/, 'RFC 9470')
    }
    assert.deepEqual(s.changes, [], 'nothing is in the audit trail')
    for (const route of Object.keys(cases)) {
      if (route in dangerous) continue
      const { status } = await ask(s, route, world, `user:olga long-ago ${scopes}`)
      assert.notEqual(status, 401, route)
    }
  })

  test('stores a draft of a template, and publishes none', async (t) => {
    const s = await setupManagement({ work: false })
    t.after(s.close)
    const save = (body: object) =>
      s.call('PUT', '/v1/templates/order.shipped/sms/en', { body: 'Words', ...body }, `user:olga long-ago ${scopes}`)
    assert.equal((await save({ publish: false })).status, 200)
    assert.equal((await save({ publish: true })).status, 401)
    assert.equal((await save({})).status, 401, 'a text is published unless it says otherwise')
  })

  test('counts what would be lifted or replayed', async (t) => {
    const s = await setupManagement({ work: false })
    t.after(s.close)
    const token = `user:olga long-ago ${scopes}`
    const lift = '/v1/suppressions?reason=manual&dry_run=true'
    assert.equal((await s.call('DELETE', lift, undefined, token)).status, 200)
    assert.equal((await s.call('POST', '/v1/dead-letters/replay', { dry_run: true }, token)).status, 200)
  })

  test('changes what is their own', async (t) => {
    const s = await setupManagement()
    t.after(s.close)
    const world = await s.worldOf(person)
    for (const route of Object.keys(dangerous).filter(
      (each) => each.includes('/v1/users/:id') && !/data$/.test(each),
    )) {
      const { status, body } = await ask(s, route, world, `user:${world.userId} long-ago write:preferences`)
      assert.ok(status < 300, `${route}: ${status} ${JSON.stringify(body)}`)
    }
  })
})

test('a client has no sign-in, and is not asked for one', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  for (const route of Object.keys(dangerous)) assert.notEqual((await ask(s, route, world, scopes)).status, 401, route)
})

test('a producer sends to many and later without a sign-in, by the key of a user too', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  for (const token of [
    'user:olga long-ago write:notifications',
    'user:olga write:notifications',
    'write:notifications',
  ])
    for (const route of ['POST /v1/notify/bulk', 'POST /v1/scheduled'])
      assert.ok((await ask(s, route, world, token)).status < 300, `${route}: ${token}`)
  for (const route of ['POST /v1/notify/bulk', 'POST /v1/scheduled'])
    assert.equal((await ask(s, route, world, 'user:olga long-ago admin:notifications')).status, 401, route)
})

test('a person who manages sends as the management with the scope of a producer alone', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  const manager = 'user:olga role:buyer role:gatehouse-operator write:notifications'
  for (const route of ['POST /v1/notify/bulk', 'POST /v1/scheduled'])
    assert.equal((await ask(s, route, world, `${manager} long-ago`)).status, 401, route)
  assert.equal(s.changes.length, 0)
  for (const route of ['POST /v1/notify', 'POST /v1/notify/bulk', 'POST /v1/scheduled'])
    assert.ok((await ask(s, route, world, manager)).status < 300, route)
  const recorded = s.changes.map(({ action, actor }) => `${action} ${actor.subject} ${actor.role}`)
  assert.deepEqual(
    recorded.map((line) => line.replace(' olga gatehouse-operator', '')),
    ['notifications.send', 'notifications.sendBulk', 'notifications.sentBulk', 'scheduled.create'],
  )
})

test('a role of a product makes nobody who sends a manager', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  for (const route of ['POST /v1/notify/bulk', 'POST /v1/scheduled'])
    assert.ok((await ask(s, route, world, 'user:bea role:buyer long-ago write:notifications')).status < 300, route)
  assert.deepEqual(s.changes, [])
})
