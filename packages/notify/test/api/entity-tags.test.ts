import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Answer, type Setup, seedEventType, setup } from '../support/setup.ts'

interface Resource {
  readonly path: string
  readonly bodies: readonly [first: object, second: object, third: object]
}

/** What is edited by PUT, with three states of it. */
const resources: Readonly<Record<string, Resource>> = {
  'an event type': {
    path: '/v1/event-types/order.shipped',
    bodies: [{ channels: ['email'] }, { channels: ['sms'] }, { channels: ['push'] }],
  },
  'a text': {
    path: '/v1/templates/order.shipped/sms/en',
    bodies: [{ body: 'First' }, { body: 'Second' }, { body: 'Third' }],
  },
  'a recipient': {
    path: '/v1/recipients/alice',
    bodies: [{ email: 'alice@example.com' }, { email: 'alice@example.org' }, { phone_number: '+441234567890' }],
  },
  'a preference': {
    path: '/v1/users/alice/preferences/order.shipped',
    bodies: [{ channels: [] }, { channels: ['sms'] }, { quiet_hours: { start: '22:00', end: '07:00' } }],
  },
}

describe('entity tags', () => {
  let s: Setup
  before(async () => {
    s = await setup({ work: false })
    await seedEventType(s)
  })
  after(() => s.close())

  const scopes = 'admin:notifications write:notifications read:personal-data'
  async function send(
    method: 'GET' | 'PUT' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    ifMatch?: string,
  ): Promise<Answer> {
    const answer = await s.http.inject({
      method,
      url: path,
      headers: { authorization: `Bearer ${scopes}`, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
      ...(body === undefined ? {} : { payload: body }),
    })
    return { status: answer.statusCode, body: answer.body && JSON.parse(answer.body), headers: answer.headers }
  }
  const tagOf = ({ headers }: Answer) => String(headers.etag)

  for (const [name, { path, bodies }] of Object.entries(resources)) {
    test(`${name} is changed only as it was read, if the request says so`, async () => {
      const [first, second, third] = bodies
      const put = await send('PUT', path, first)
      const read = await send('GET', path)
      assert.equal(tagOf(read), tagOf(put))
      const changed = await send('PUT', path, second, tagOf(read))
      assert.deepEqual([changed.status, tagOf(changed) === tagOf(read)], [200, false])
      const late = await send('PUT', path, third, tagOf(read))
      assert.deepEqual([late.status, late.body.etag, tagOf(late)], [412, tagOf(changed), tagOf(changed)])
      assert.equal(tagOf(await send('GET', path)), tagOf(changed), 'nothing was changed')
      assert.equal((await send('PUT', path, third, '*')).status, 200)
      assert.equal((await send('PUT', path, first)).status, 200)
    })

    test(`of two who change ${name} as they both read it, one wins`, async () => {
      const [first, second, third] = bodies
      const read = tagOf(await send('PUT', path, first))
      const both = await Promise.all([second, third].map((body) => send('PUT', path, body, read)))
      assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412])
    })
  }

  test('what does not exist matches no If-Match, so it is not created', async () => {
    for (const ifMatch of ['*', '"some"']) {
      assert.equal((await send('PUT', '/v1/event-types/order.lost', { channels: [] }, ifMatch)).status, 412)
      assert.equal((await send('PUT', '/v1/templates/order.lost/sms/en', { body: 'x' }, ifMatch)).status, 412)
    }
    assert.equal((await send('GET', '/v1/event-types/order.lost')).status, 404)
    assert.equal((await send('GET', '/v1/templates/order.lost/sms/en')).status, 404)
  })

  test('a publication and a withdrawal change the entity tag of a text, and honour If-Match', async () => {
    const path = '/v1/templates/order.shipped/email/en'
    const draft = await send('PUT', path, { subject: 'S', body: 'Draft', publish: false })
    assert.equal((await send('GET', path)).body.body, 'Order {{ order_id }} left.', 'the published one')
    const { version } = draft.body
    const published = await send('POST', `${path}/publish`, { version }, tagOf(draft))
    assert.deepEqual([published.status, tagOf(published) === tagOf(draft)], [200, false])
    assert.equal((await send('POST', `${path}/publish`, { version: 1 }, tagOf(draft))).status, 412)
    assert.equal((await send('GET', path)).body.version, version)
    assert.equal((await s.call('DELETE', path)).status, 204)
    assert.notEqual(tagOf(await send('GET', path)), tagOf(published))
    assert.equal((await send('PUT', path, { subject: 'S', body: 'x' }, tagOf(published))).status, 412)
  })

  test('a scheduled notification is moved only as it was read, and one of two who move it wins', async () => {
    const hours = (count: number) => new Date(s.clock.now() + count * 3_600_000).toISOString()
    const payload = { event: 'order.shipped', user_id: 'alice', data: {} }
    const { id } = (await send('POST', '/v1/scheduled', { fire_at: hours(1), payload })).body
    const path = `/v1/scheduled/${id}`
    const move = (count: number, ifMatch?: string) => send('PATCH', path, { fire_at: hours(count) }, ifMatch)
    const read = tagOf(await send('GET', path))
    const both = await Promise.all([move(2, read), move(3, read)])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412])
    const [moved, late] = both.toSorted((a, b) => a.status - b.status)
    assert.ok(moved && late)
    assert.deepEqual([late.body.etag, tagOf(await send('GET', path))], [tagOf(moved), tagOf(moved)])
    assert.equal((await send('GET', path)).body.fire_at, moved.body.fire_at)
    assert.equal((await move(4, tagOf(moved))).status, 200)
    assert.equal((await move(5)).status, 200, 'without it whatever is there is moved')
  })

  test('a recipient whose address is masked has no tag that it could be guessed by', async () => {
    const masked = await s.call('GET', '/v1/recipients/alice', undefined, 'user:sue read:delivery')
    assert.deepEqual([masked.status, masked.headers.etag], [200, undefined])
  })
})
