import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createdAtOf, deliveryIdOf } from '../../src/model/id.ts'
import { eventually, type Setup, seedEventType, setup } from '../support/setup.ts'

interface Listed {
  readonly id: string
  readonly user_id: string
  readonly event: string
  readonly deliveries: ReadonlyArray<{ readonly channel: string; readonly outcome: string; readonly state?: string }>
}

const list = async ({ call }: Setup, query: string = '', scopes?: string) =>
  call('GET', `/v1/notifications${query}`, undefined, scopes)
const idsOf = (items: readonly Listed[]) => items.map(({ id }) => id)

/** Events of a few users and types, of which all deliveries are on their way. */
async function sendSome(s: Setup, users: number): Promise<string[]> {
  await seedEventType(s)
  await s.call('PUT', '/v1/event-types/order.lost', {
    channels: ['email', 'in-app'],
    priority: 'critical',
    template_id: 'order.shipped',
  })
  const ids: string[] = []
  for (let n = 0; n < users; n++) {
    const userId = `user-${n}`
    await s.call('PUT', `/v1/recipients/${userId}`, { email: `${userId}@example.com`, locale: 'en' })
    for (const [event, channels] of [
      ['order.shipped', ['email', 'sms']],
      ['order.lost', undefined],
    ] as const) {
      const data = { order_id: `A-${n}` }
      const body = { event, user_id: userId, data, dedup_key: `key-${n}`, ...(channels && { channels }) }
      ids.unshift((await s.call('POST', '/v1/notify', body)).body.id)
    }
  }
  return ids
}

const isSent = ({ body }: { body: { items: Listed[] } }) =>
  body.items.every(({ deliveries }) =>
    deliveries.every(({ outcome, state }) => outcome !== 'queued' || state === 'sent'),
  )

for (const [buckets, distributed] of [
  [1, false],
  [8, false],
  [8, true],
] as const)
  test(`notifications are searched in ${buckets} buckets${distributed ? ' on several nodes' : ''}`, async (t) => {
    const s = await setup({ tables: { buckets, distributed } })
    t.after(s.close)
    const ids = await sendSome(s, 12)
    const all = await eventually(() => list(s, '?limit=200'), isSent)
    assert.equal(all.status, 200)
    assert.deepEqual(idsOf(all.body.items), ids, 'the newest first')
    assert.deepEqual([all.body.complete, all.body.next], [true, undefined])
    const one = await s.call('GET', `/v1/notifications/${ids[0]}`)
    assert.deepEqual(all.body.items[0].deliveries, one.body.deliveries, 'deliveries are those of the notification')
    const found = async (query: string) => {
      const { body } = await list(s, `?${query}`)
      assert.equal(body.complete, true)
      return idsOf(body.items)
    }
    const odd = ids.filter((_, n) => n % 2 === 0)
    const even = ids.filter((_, n) => n % 2 === 1)
    assert.deepEqual(await found('event=order.lost'), odd)
    assert.deepEqual(await found('priority=critical'), odd)
    assert.deepEqual(await found('priority=low'), [])
    assert.deepEqual(await found('channel=sms'), even)
    assert.deepEqual(await found('outcome=no_recipient'), even, 'nobody has a telephone number')
    assert.deepEqual(await found('outcome=no_recipient&channel=email'), [])
    assert.deepEqual(await found('outcome=queued'), ids)
    assert.deepEqual(await found('state=sent&channel=in-app'), odd)
    assert.deepEqual(await found('state=delivered'), [])
    assert.deepEqual(await found('state=sent&event=order.lost'), odd)
    assert.deepEqual(await found('state=sent&priority=low'), [])
    assert.deepEqual(await found('state=sent&outcome=queued&event=order.shipped'), even)
    assert.deepEqual(await found('state=sent&dedup_key=key-11'), ids.slice(0, 2))
    assert.deepEqual(await found('state=sent&outcome=no_recipient'), [], 'no delivery has both')
    assert.deepEqual(await found('provider=mailbox-email&channel=email'), ids)
    assert.deepEqual(await found('user_id=user-3'), ids.slice(16, 18))
    assert.deepEqual(await found('user_id=user-3&event=order.lost'), ids.slice(16, 17))
    assert.deepEqual(await found('user_id=user-3&state=sent&channel=in-app'), ids.slice(16, 17))
    assert.deepEqual(await found('dedup_key=key-11'), ids.slice(0, 2))
    assert.deepEqual(await found('user_id=nobody'), [])
    await pages(s, ids)
  })

/** Page by page all of them, each once; and times bound them. */
async function pages(s: Setup, ids: readonly string[]): Promise<void> {
  for (const query of ['', '&channel=email', '&outcome=queued', '&state=sent', '&provider=mailbox-email&state=sent']) {
    const seen: string[] = []
    let cursor = ''
    for (let pages = 0; pages < 20; pages++) {
      const { body } = await list(s, `?limit=5${query}${cursor}`)
      assert.ok(body.items.length <= 5)
      seen.push(...idsOf(body.items))
      if (body.complete) break
      assert.equal(Date.parse(body.searched_until), createdAtOf(body.next))
      cursor = `&cursor=${body.next}`
    }
    assert.deepEqual(seen, ids)
  }
  const at = (id: string | undefined) => new Date(createdAtOf(id ?? '')).toISOString()
  const { body } = await list(s, `?from=${at(ids.at(-3))}&to=${at(ids[1])}`)
  const between = ids.filter((id) => at(id) >= at(ids.at(-3)) && at(id) < at(ids[1]))
  assert.deepEqual(idsOf(body.items), between)
  assert.equal(body.searched_until, at(ids.at(-3)))
}

test('a search of everybody needs a scope for deliveries, and users search their own', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await sendSome(s, 2)
  const answers = async (query: string, scopes: string) => {
    const { status, body } = await list(s, query, scopes)
    return status === 200 ? body.items.length : status
  }
  for (const scopes of ['read:notifications', 'write:notifications', 'user:user-1 read:notifications'])
    assert.equal(await answers('', scopes), 403, scopes)
  assert.equal(await answers('', 'user:sue read:delivery'), 4)
  assert.equal(await answers('', 'admin:notifications'), 4)
  assert.equal(await answers('?user_id=user-1', 'write:notifications'), 2)
  assert.equal(await answers('?user_id=user-1', 'user:user-1 read:notifications'), 2)
  assert.equal(await answers('?user_id=user-0', 'user:user-1 read:notifications'), 403)
  assert.equal(await answers('?user_id=user-0', 'read:settings'), 403)
  assert.equal(await answers('?user_id=user-0', ''), 401)
  const refused = await list(s, '?dedup_key=key-1', 'user:sue read:delivery')
  assert.equal(refused.status, 403, 'a key that is masked cannot be guessed')
  assert.match(String(refused.headers['www-authenticate']), /read:personal-data/)
  assert.equal(await answers('?dedup_key=key-1', 'user:sue read:delivery read:personal-data'), 2)
  assert.equal(await answers('?user_id=user-1&dedup_key=key-1', 'user:user-1 read:notifications'), 2)
})

test('a search names every fault of its query', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const { status, body } = await list(s, '?state=lost&limit=201&cursor=1&color=red&from=yesterday')
  assert.equal(status, 400)
  const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer)
  assert.deepEqual(pointers.toSorted(), ['/color', '/cursor', '/from', '/limit', '/state'])
})

test('a search reports how far it looked when its bounds come before its page', async (t) => {
  const s = await setup({ tables: { buckets: 4 }, work: false })
  t.after(s.close)
  const ids = await sendSome(s, 40)
  const filter = { event: 'order.never' }
  const bounds = { limit: 10, maxMs: 60_000, maxRows: 20 }
  const page = await s.store.search.notifications(filter, bounds)
  assert.deepEqual(page.items, [])
  assert.ok(page.next !== undefined && page.next > (ids.at(-1) ?? ''), 'it did not come to the end')
  assert.equal(page.searchedUntil, createdAtOf(page.next))
})

test('a search by email finds the fallback of a push, which the decisions do not name', async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  const send = (channels: readonly string[]) =>
    s.call('POST', '/v1/notify', { event: 'order.shipped', user_id: 'ada', data: { order_id: '1' }, channels })
  await seedEventType(s)
  await s.call('PUT', '/v1/users/ada/devices/phone', { token: 't', service: 'fcm' })
  const { body: pushed } = await send(['push'])
  await send(['in-app'])
  assert.deepEqual(idsOf((await list(s, '?channel=email')).body.items), [])
  await s.database.query(
    "INSERT INTO notify.delivery (bucket, id, user_id, channel, state) VALUES (0, $1, 'ada', 'email', 'queued')",
    [deliveryIdOf(pushed.id, 'email')],
  )
  assert.deepEqual(idsOf((await list(s, '?channel=email')).body.items), [pushed.id])
})
