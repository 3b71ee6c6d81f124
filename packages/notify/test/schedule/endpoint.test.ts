import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedEventType, setup } from '../support/setup.ts'

const createSchedule = (userId: string) => ({
  fire_at: '2090-01-01T00:00:00Z',
  payload: { event: 'order.shipped', user_id: userId, data: { order_id: 'A-1' } },
})

test("a user's token without the scope to submit cannot read or cancel others' schedules", async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  const { id } = (await s.call('POST', '/v1/scheduled', createSchedule('bob'))).body
  const alice = 'user:alice write:notifications'
  assert.equal((await s.call('GET', '/v1/scheduled?user_id=bob', undefined, alice)).status, 403)
  assert.equal((await s.call('GET', `/v1/scheduled/${id}`, undefined, alice)).status, 404)
  for (const more of ['', ' read:delivery'])
    assert.equal((await s.call('DELETE', `/v1/scheduled/${id}`, undefined, alice + more)).status, 404, more)
  assert.equal((await s.call('GET', `/v1/scheduled/${id}`)).status, 200)
})

test("a user's token reads and cancels that user's schedules, and the management any", async (t) => {
  const s = await setup({ work: false })
  t.after(s.close)
  await seedEventType(s)
  const schedule = async () => (await s.call('POST', '/v1/scheduled', createSchedule('alice'))).body.id
  for (const [reads, cancels] of [
    ['user:alice write:notifications', 'user:alice write:notifications'],
    ['user:carol read:delivery', 'user:carol admin:notifications'],
    ['write:notifications', 'write:notifications'],
  ] as const) {
    const id = await schedule()
    const { body } = await s.call('GET', '/v1/scheduled?user_id=alice', undefined, reads)
    assert.deepEqual(
      body.items.map((each: { id: string }) => each.id),
      [id],
    )
    assert.equal((await s.call('GET', `/v1/scheduled/${id}`, undefined, reads)).status, 200)
    assert.equal((await s.call('DELETE', `/v1/scheduled/${id}`, undefined, cancels)).status, 204)
  }
})

test('pages of what is due within one millisecond list each once, and come to an end', async (t) => {
  const s = await setup({ work: false, tables: { buckets: 4 } })
  t.after(s.close)
  const ids: string[] = []
  for (const userId of ['alice', 'alice', 'alice', 'bob', 'carol', 'dan', 'eve', 'alice'])
    ids.push(await s.store.schedule.add(Date.parse('2090-01-01T00:00:00Z'), createSchedule(userId).payload))
  // As events of the topic that are released together: each due a little before the next, whatever its id.
  for (const [place, id] of ids.entries())
    await s.database.query('UPDATE notify.scheduled SET fire_at = $2 WHERE id = $1', [
      id,
      `2090-01-01T00:00:00.00000${ids.length - place}Z`,
    ])
  const walk = async (query: string) => {
    const found: string[] = []
    let cursor = ''
    do {
      const { body } = await s.call('GET', `/v1/scheduled?limit=2${query}${cursor}`)
      found.push(...body.items.map(({ id }: { id: string }) => id))
      cursor = body.next === undefined ? '' : `&cursor=${body.next}`
    } while (cursor !== '' && found.length <= ids.length)
    return found
  }
  assert.deepEqual(await walk(''), ids.toReversed())
  assert.deepEqual(await walk('&user_id=alice'), [ids.at(-1), ...ids.slice(0, 3).toReversed()])
})
