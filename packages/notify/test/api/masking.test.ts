import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { maskLetterDetail, maskReason } from '../../src/model/masking.ts'
import { type Managed, type Person, setupManagement, type World } from '../support/management.ts'
import { cases, methodOf, uncovered } from '../support/routes.ts'
import { readStream } from '../support/stream-reader.ts'

/** Callers who may not read personal data, each with another way in. */
const blind = [
  'user:sue read:delivery read:settings',
  'read:notifications write:notifications write:preferences',
  'read:events',
  'admin:notifications',
]
const needsPersonalData = 'Bearer error="insufficient_scope", scope="read:personal-data"'
const masked = Object.entries(cases).filter(([, { unmasked }]) => unmasked === undefined)

const letters = (min: number, max: number) =>
  fc.stringMatching(new RegExp(`^[a-zà-öø-ž]{${min},${max}}$`)).filter((text) => text.length >= min)
/** A word that no answer has of its own, nor an address as its domain. */
const ownWord = (min: number, max: number) => letters(min - 2, max - 2).map((text) => `zq${text}`)
const personArbitrary: fc.Arbitrary<Person> = fc.record({
  email: fc.tuple(ownWord(5, 20), letters(5, 12)).map(([local, label]) => `${local}@${label}.example`),
  phone: fc.stringMatching(/^\+[1-9]\d{9,14}$/),
  token: fc.uuid().map((id) => `token-${id}`),
  name: fc.tuple(ownWord(5, 12), ownWord(5, 12)).map((words) => words.join(' ')),
  value: fc.oneof(fc.uuid(), ownWord(8, 30), fc.stringMatching(/^\d{6,12} 5\.9\.9$/)),
  dedupKey: fc.uuid().map((id) => `key-${id}`),
})

/** Whatever of a person could be recognized in a text. */
function tracesOf({ email, phone, token, name, value, dedupKey }: Person): string[] {
  return [email, email.split('@')[0] ?? '', phone, phone.slice(3), token, ...name.split(' '), value, dedupKey]
}

async function askAll(s: Managed, world: World, token: string): Promise<string[]> {
  const answered: string[] = []
  const gets = masked.filter(([route]) => methodOf(route) === 'GET')
  for (const [route, { path, body }] of [...gets, ...masked.filter((each) => !gets.includes(each))]) {
    const { status, body: answer } = await s.call(methodOf(route), path(world), body?.(world), token)
    assert.ok(status < 500, `${route} answered ${status}`)
    if (status < 300 || status === 404) answered.push(route)
    const text = JSON.stringify(answer)
    for (const trace of tracesOf(world.person))
      assert.ok(!text.includes(trace), `${JSON.stringify(trace)} is in the answer to ${route} for ${token}: ${text}`)
  }
  return answered
}

test('every route is listed here, and unmasked responses have a reason', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  assert.deepEqual(uncovered(s.routes), [])
})

test('responses to callers without access to personal data contain no personal value', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const answered = new Set<string>()
  await fc.assert(
    fc.asyncProperty(personArbitrary, async (person) => {
      for (const token of blind)
        for (const route of await askAll(s, await s.worldOf(person), token)) answered.add(route)
      await s.call('PUT', '/v1/event-types/order.shipped', { channels: ['in-app'] })
      await s.call('POST', '/v1/templates/order.shipped/sms/en/publish', { version: 1 })
    }),
    { numRuns: 3, endOnFailure: true },
  )
  const never = masked.map(([route]) => route).filter((route) => !answered.has(route))
  assert.deepEqual(never, [], 'each route let one of the callers in')
})

test('users and callers with access to personal data see what others see masked', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const person: Person = {
    email: 'zelda@example.com',
    phone: '+447700900123',
    token: 'the-token-of-zelda',
    name: 'Zelda Hyrule',
    value: 'a present',
    dedupKey: 'the-key',
  }
  const world = await s.worldOf(person)
  const { userId, notificationId, deadLetterId, scheduledId } = world
  const seen = async (path: string, token: string) => JSON.stringify((await s.call('GET', path, undefined, token)).body)
  for (const sees of ['read:delivery read:settings read:personal-data', 'admin:notifications admin:privacy'])
    for (const [path, value] of [
      [`/v1/recipients/${userId}`, person.email],
      [`/v1/notifications/${notificationId}`, person.name],
      [`/v1/dead-letters/${deadLetterId}`, person.email],
      [`/v1/scheduled/${scheduledId}`, person.value],
      [`/v1/users/${userId}/inbox`, person.name],
      [`/v1/suppressions?user_id=${userId}`, person.email],
    ] as const)
      assert.ok((await seen(path, sees)).includes(value), `${path} for ${sees}`)
  const own = `user:${userId} read:notifications write:preferences`
  assert.ok((await seen(`/v1/notifications/${notificationId}`, own)).includes(person.name))
  assert.ok((await seen(`/v1/users/${userId}/inbox`, own)).includes(person.name))
  assert.ok((await seen(`/v1/users/${userId}/suppressions`, own)).includes(person.email))
})

test('callers who see masked addresses cannot find their owner by guessing', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const phone = '+447700900123'
  await s.call('POST', '/v1/suppressions', { user_id: 'zelda', channel: 'sms', address: phone })
  const guess = (address: string, token: string) => [
    s.call('GET', `/v1/suppressions?address=${encodeURIComponent(address)}`, undefined, token),
    s.call('POST', '/v1/suppressions/search', { user_id: 'zelda', address }, token),
  ]
  const ofUser = (address: string, token: string) =>
    s.call('GET', `/v1/users/zelda/suppressions?address=${encodeURIComponent(address)}`, undefined, token)
  const responses = [...guess(phone, 'read:settings'), ofUser(phone, 'read:delivery')]
  for (const { status, headers } of await Promise.all(responses)) {
    assert.equal(status, 403)
    assert.equal(headers['www-authenticate'], needsPersonalData)
  }
  const sees = [
    ...guess(phone, 'read:settings read:personal-data'),
    ofUser(phone, 'user:zelda write:preferences'),
    ofUser(phone, 'read:delivery admin:privacy'),
  ]
  for (const { body } of await Promise.all(sees)) assert.equal(body.items.length, 1)
  assert.equal((await ofUser('*', 'read:delivery')).status, 200, 'any address is nobody’s')
})

test('suppressions are lifted by an address, and counted, by callers alone who see it', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const address = 'zelda@example.com'
  await s.call('POST', '/v1/suppressions', { user_id: 'zelda', channel: 'email', address })
  const lift = (query: string, token: string) => s.call('DELETE', `/v1/suppressions?${query}`, undefined, token)
  for (const query of [`address=${address}&dry_run=true`, `address=${address}`, `user_id=zelda&address=${address}`]) {
    const { status, headers } = await lift(query, 'admin:notifications')
    assert.deepEqual([status, headers['www-authenticate']], [403, needsPersonalData], query)
  }
  const byUser = await lift('user_id=zelda&address=*&dry_run=true', 'admin:notifications')
  assert.deepEqual([byUser.status, byUser.body.matched], [200, 0])
  const lifted = await lift(`address=${address}`, 'admin:notifications read:personal-data')
  assert.deepEqual(lifted.body, { lifted: 1 })
  const { target, after } = s.changes.findLast(({ action }) => action === 'suppressions.lift') ?? assert.fail()
  assert.deepEqual([target.id, after], ['selection', { address: 'z•••@example.com' }])
})

test('who sees a recipient masked learns no entity tag from a change that is refused', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const url = '/v1/recipients/zelda'
  const seeing = 'admin:notifications read:personal-data'
  const tag = String((await s.call('PUT', url, { email: 'zelda@example.com' }, seeing)).headers.etag)
  const edit = (ifMatch: string, token: string) =>
    s.http.inject({
      method: 'PUT',
      url,
      headers: { authorization: `Bearer ${token}`, 'if-match': ifMatch },
      payload: { email: 'z@example.com' },
    })
  assert.equal((await edit('"a guess"', seeing)).headers.etag, tag)
  for (const guess of ['"a guess"', tag]) {
    const refused = await edit(guess, 'admin:notifications')
    assert.equal(refused.statusCode, 412)
    assert.ok(!JSON.stringify([refused.headers, refused.json()]).includes(tag.slice(1, -1)), refused.body)
  }
  const { detail } = (await edit(tag, 'admin:notifications')).json()
  assert.match(detail, /If-Match must be \* or left out/)
  assert.equal((await edit('"a guess"', 'admin:notifications')).json().detail, detail)
  assert.equal((await s.call('GET', url, undefined, seeing)).body.email, 'zelda@example.com')
  assert.equal((await edit('*', 'admin:notifications')).statusCode, 200, 'a recipient, whatever it is')
})

test('the entity tag of samples is no digest for callers who see them masked', async (t) => {
  const s = await setupManagement({ work: false })
  t.after(s.close)
  const path = '/v1/templates/order.shipped/samples'
  const items = [{ name: 'one', data: { pin: '4711' } }]
  const seeing = 'admin:notifications read:personal-data'
  assert.match(String((await s.call('PUT', path, { items }, seeing)).headers.etag), /^"/)
  assert.match(String((await s.call('GET', path, undefined, seeing)).headers.etag), /^"/)
  for (const token of ['read:settings', 'admin:notifications'])
    assert.equal((await s.call('GET', path, undefined, token)).headers.etag, undefined)
  const edit = (ifMatch: string) => {
    const headers = { authorization: 'Bearer admin:notifications', 'if-match': ifMatch }
    return s.http.inject({ method: 'PUT', url: path, headers, payload: { items } })
  }
  const refused = await edit('"a guess"')
  assert.deepEqual([refused.statusCode, refused.headers.etag, refused.json().etag], [412, undefined, undefined])
  assert.match(refused.json().detail, /If-Match must be \* or left out/)
  assert.equal((await edit('*')).statusCode, 200, 'samples, whatever they are')
})

test('masked responses keep what a support case needs', async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf({
    email: 'zelda@example.com',
    phone: '+447700900123',
    token: 'the-token-of-zelda',
    name: 'Zelda Hyrule',
    value: 'a present',
    dedupKey: 'the-key',
  })
  const get = async (path: string) => (await s.call('GET', path, undefined, blind[0])).body
  const { userId } = world
  const { email, phone_number, locale } = await get(`/v1/recipients/${userId}`)
  assert.deepEqual([email, phone_number, locale], ['z•••@example.com', '+44•••123', 'en'])
  const { deliveries, timeline } = await get(`/v1/notifications/${world.notificationId}`)
  assert.deepEqual(
    deliveries.map(({ channel, ended }: { channel: string; ended?: string }) => [channel, ended]),
    [
      ['push', 'dead_letter'],
      ['email', 'dead_letter'],
      ['sms', 'dead_letter'],
      ['in-app', undefined],
    ],
  )
  const reasons = timeline.flatMap(({ detail }: { detail?: { results?: object[] } }) => detail?.results ?? [])
  assert.ok(reasons.some(({ reason }: { reason: string }) => reason === '550 5.1.1 •••'))
  assert.equal(
    (await get(`/v1/dead-letters/${world.deadLetterId}`)).detail,
    'quoting-email answered 550: 550 5.1.1 •••',
  )
  const { items } = await get(`/v1/users/${userId}/inbox`)
  assert.deepEqual([items[0].subject, items[0].body], ['Order {{ item }}', 'Dear {{ person.name }}, {{ item }} left.'])
  const { payload } = await get(`/v1/scheduled/${world.scheduledId}`)
  assert.deepEqual(payload.data, { item: 'string', person: { name: 'string', mail: 'string' }, list: 'array' })
  const explained = await s.call('POST', '/v1/explain', { event: 'order.shipped', user_id: userId, data: {} }, blind[0])
  assert.equal(explained.body.channels[0].body, 'Dear {{ person.name }}, {{ item }} left.')
})

test("a stream of another user's feed is masked as the feed is", async (t) => {
  const s = await setupManagement()
  t.after(s.close)
  const world = await s.worldOf({
    email: 'zelda@example.com',
    phone: '+447700900123',
    token: 'the-token-of-zelda',
    name: 'Zelda Hyrule',
    value: 'a present',
    dedupKey: 'the-key',
  })
  await s.http.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(s.http.server.address() as AddressInfo).port}/v1/users/${world.userId}/inbox/stream`
  const open = async (token: string) => {
    const reader = await readStream(url, token, 0)
    await reader.until((events) => events.some(({ data }) => data.items?.length > 0))
    reader.cut()
    return JSON.stringify(reader.events)
  }
  const [others, own] = await Promise.all([
    open('user:sue read:delivery'),
    open(`user:${world.userId} read:notifications`),
  ])
  assert.ok(own.includes('Zelda Hyrule'))
  assert.ok(!others.includes('Zelda'), others)
  assert.ok(others.includes('{{ person.name }}'))
})

test('a masked reason hides quoted text and keeps our own words and the codes of a reply', () => {
  for (const [reason, shown] of [
    ['the user has no email address', 'the user has no email address'],
    ['its address is left out: bounced', 'its address is left out: bounced'],
    ['its address is left out: bounced alice', '•••'],
    ['550 5.1.1 <alice@example.com> unknown', '550 5.1.1 •••'],
    ["Can't send mail: 550 5.1.1 alice", '550 5.1.1 •••'],
    ['answered 404: alice is gone', 'answered 404 •••'],
    ['the body does not render: undefined variable: alice', 'the body does not render: •••'],
    ['5 attempts failed, the last: 451 4.3.0 alice', '5 attempts failed, the last: 451 4.3.0 •••'],
    ['alice answered 550: no', '•••'],
    ['550alice', '•••'],
  ] as const)
    assert.equal(maskReason(reason), shown, reason)
  assert.equal(maskLetterDetail('permanent', 'smtp answered 5.1.1: 550 no alice'), 'smtp answered 5.1.1: 550 •••')
  assert.equal(maskLetterDetail('invalid_message', 'alice answered 5: x'), '•••')
})
