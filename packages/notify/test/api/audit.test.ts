import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { type Managed, type Person, setupManagement, type World } from '../support/management.ts'
import { type Case, cases, methodOf, uncovered } from '../support/routes.ts'

const owner = 'user:olga role:buyer role:gatehouse-owner admin:notifications admin:privacy'
const person: Person = {
  email: 'zelda.hyrule@example.com',
  phone: '+447700900123',
  token: 'the-token-of-zelda',
  name: 'Zelda Hyrule',
  value: 'a-secret-present',
  dedupKey: 'the-key-of-zelda',
}
const changing = Object.entries(cases).filter(([, { action }]) => action !== undefined)

const call = (s: Managed, route: string, { path, body }: Case, world: World, token: string = owner) =>
  s.call(methodOf(route), path(world), body?.(world), token)

/** Every row of every table, but for what is counted of the calls of providers meanwhile. */
async function rowsOf(database: Database): Promise<string[]> {
  const tables = await database.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'notify' AND table_name NOT IN ('provider_call', 'provider_error') ORDER BY table_name",
  )
  const found: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await database.query<{ row: string }>(`SELECT t::text AS row FROM notify.${name} t ORDER BY 1`)
    found.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return found
}

test('every management route that changes something has a case in this test', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  assert.deepEqual(uncovered(s.routes), [])
  const silent = Object.entries(cases).filter(
    ([route, { action }]) => methodOf(route) !== 'GET' && action === undefined,
  )
  assert.deepEqual(
    silent.map(([route]) => route),
    [
      'POST /v1/explain',
      'POST /v1/event-types/:event/simulate',
      'POST /v1/templates/:template_id/preview',
      'POST /v1/recipients/search',
      'POST /v1/suppressions/search',
    ],
    'readers ask: all others are changes of the management',
  )
})

for (const [route, each] of changing)
  test(`${route} records one audit event, and changes nothing if that fails`, async (t) => {
    const s = await setupManagement()
    t.after(s.close)
    const world = await s.worldOf(person)
    await Promise.all(s.notify.workers.map((worker) => worker.stop()))
    const before = await rowsOf(s.database)
    s.trail.isAway = true
    const refused = await call(s, route, each, world)
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '5'])
    assert.deepEqual(await rowsOf(s.database), before)
    s.trail.isAway = false
    const answer = await call(s, route, each, world)
    assert.ok(answer.status < 300, `${answer.status} ${JSON.stringify(answer.body)}`)
    // What is sent in bulk is recorded before, and what came of it after.
    assert.equal(s.changes.length, route === 'POST /v1/notify/bulk' ? 2 : 1)
    const { service, action, actor } = s.changes[0] ?? assert.fail()
    assert.deepEqual([service, action], ['notify', each.action])
    assert.deepEqual(
      { ...actor },
      {
        subject: 'olga',
        role: 'gatehouse-owner',
        clientId: undefined,
        address: '127.0.0.1',
        requestId: answer.headers['x-request-id'],
      },
    )
    const kept = JSON.stringify(s.changes)
    for (const value of Object.values(person)) assert.ok(!kept.includes(value), `${value} is in ${kept}`)
  })

test('changes by users of their own data and recipient feeds are not in the audit trail', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  const own = changing.filter(([route]) => route.includes('/v1/users/:id') && !route.includes('/data'))
  for (const [route, each] of own) {
    const { status } = await call(s, route, each, world, `user:${world.userId} write:preferences`)
    assert.ok(status < 300, `${route} ${status}`)
  }
  const feed = (method: 'PUT' | 'DELETE', body?: object) =>
    s.call(method, `/v1/recipients/${world.userId}`, body, 'write:recipients')
  assert.equal((await feed('PUT', { email: 'fed@example.com' })).status, 200)
  assert.equal((await feed('DELETE')).status, 204)
  assert.deepEqual(s.changes, [])
})

test('what producers send is not in the audit trail, whatever else they manage', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  for (const route of ['POST /v1/notify', 'POST /v1/notify/bulk', 'POST /v1/scheduled']) {
    const { status } = await call(
      s,
      route,
      cases[route] ?? assert.fail(),
      world,
      'admin:notifications write:notifications',
    )
    assert.ok(status < 300, `${route} ${status}`)
  }
  assert.deepEqual(s.changes, [])
})

test('a person who manages is in the audit trail with the scope of a producer too', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf(person)
  for (const route of ['POST /v1/notify', 'POST /v1/notify/bulk', 'POST /v1/scheduled'])
    await call(s, route, cases[route] ?? assert.fail(), world, `${owner} write:notifications`)
  assert.deepEqual(
    s.changes.map(({ action }) => action),
    ['notifications.send', 'notifications.sendBulk', 'notifications.sentBulk', 'scheduled.create'],
  )
})

test('what is scheduled is in the audit trail with its id and its time', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  s.changes.length = 0
  const payload = { event: 'order.shipped', user_id: 'zelda', data: { secret: person.value }, channels: ['sms'] }
  const { body } = await s.call('POST', '/v1/scheduled', { fire_at: '2090-01-01T00:00:00Z', payload }, owner)
  const [{ after, target } = assert.fail()] = s.changes
  assert.deepEqual(target, { type: 'user', id: 'zelda' })
  const fire_at = '2090-01-01T00:00:00.000Z'
  assert.deepEqual({ ...after }, { id: body.id, event: 'order.shipped', fire_at, channels: ['sms'] })
})

test('recipients are fed by clients only, one recipient a request', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const put = (path: string, body: object, token: string) => s.call('PUT', path, body, token)
  assert.equal((await put('/v1/recipients/zelda', {}, 'user:zelda write:recipients')).status, 403)
  assert.equal((await put('/v1/recipients', { recipients: [] }, 'write:recipients')).status, 403)
})

test('a management edit stays until the fed field changes', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const put = (body: object, token: string) => s.call('PUT', '/v1/recipients/zelda', body, token)
  await put({ email: 'one@example.com', locale: 'en' }, 'write:recipients')
  await put({ email: 'edited@example.com', locale: 'en' }, 'admin:notifications')
  await put({ email: 'one@example.com', locale: 'de' }, 'write:recipients')
  const { body } = await s.call('GET', '/v1/recipients/zelda')
  assert.deepEqual([body.email, body.locale], ['edited@example.com', 'de'])
})

test('an audit event contains the changed members before and after', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  s.changes.length = 0
  await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['sms'], priority: 'low' }, owner)
  await s.call('PUT', '/v1/event-types/order.lost', { channels: [] }, owner)
  await s.call('PUT', '/v1/templates/order.shipped/sms/en', { body: 'x'.repeat(5_000), publish: false }, owner)
  const [updated, created, saved] = s.changes
  assert.deepEqual(updated?.before, { priority: 'normal', channels: ['in-app'] })
  assert.deepEqual(updated?.after, { priority: 'low', channels: ['sms'] })
  assert.deepEqual([created?.action, created?.before], ['event-types.create', {}])
  assert.equal(String(saved?.after?.body).length, 1_001, 'what is long is cut')
  assert.equal(saved?.target.id, 'order.shipped/sms/en')
})

test('an import of 1,000 recipients is one audit event with their number and the first ids', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  s.changes.length = 0
  const recipients = Array.from({ length: 1_000 }, (_, n) => ({ user_id: `u${n}`, email: `u${n}@example.com` }))
  assert.deepEqual((await s.call('PUT', '/v1/recipients', { recipients }, owner)).body, { stored: 1_000 })
  const [{ after } = assert.fail(), ...more] = s.changes
  const { count, user_ids: ids } = after ?? assert.fail()
  assert.deepEqual([more, count, (ids as string[]).length], [[], 1_000, 100])
})

test('a change of something that does not exist is rejected without an audit event', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  s.changes.length = 0
  const id = '01890000-0000-7000-8000-000000000000'
  for (const [method, path, body] of [
    ['DELETE', '/v1/event-types/nothing'],
    ['DELETE', '/v1/templates/nothing/sms/en'],
    ['POST', '/v1/templates/order.shipped/sms/en/publish', { version: 99 }],
    ['DELETE', '/v1/recipients/nobody'],
    ['POST', '/v1/recipients/nobody/reveal', { fields: ['email'], reason: 'ticket 4711' }],
    ['DELETE', `/v1/dead-letters/${id}`],
    ['POST', `/v1/dead-letters/${id}/replay`],
    ['DELETE', `/v1/scheduled/${id}`],
    ['DELETE', `/v1/suppressions/${id}`],
    ['DELETE', '/v1/users/nobody/devices/phone'],
    ['DELETE', '/v1/users/nobody/preferences/order.shipped'],
  ] as const)
    assert.equal((await s.call(method, path, body, owner)).status, 404, `${method} ${path}`)
  assert.deepEqual(s.changes, [])
})
