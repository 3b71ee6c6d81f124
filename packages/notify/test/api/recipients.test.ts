import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/setup.ts'

test('recipients are found by address, number and the beginning of their id, page by page', async (t) => {
  const s = await setup()
  t.after(s.close)
  const recipients = [
    { user_id: 'ann', email: 'Ann@Example.com', phone_number: '+447700900123' },
    { user_id: 'ann_2', email: 'second@example.com' },
    { user_id: 'anna', email: 'anna@example.com', phone_number: '+447700900124' },
  ]
  assert.equal((await s.call('PUT', '/v1/recipients', { recipients })).status, 200)
  const search = async (body: object) => {
    const answer = await s.call('POST', '/v1/recipients/search', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body as { items: { user_id: string; email?: string }[]; next?: string }
  }
  const ids = async (body: object) => (await search(body)).items.map(({ user_id }) => user_id)
  assert.deepEqual(await ids({ email: ' ann@EXAMPLE.com' }), ['ann'])
  assert.deepEqual(await ids({ phone_number: '+44 (7700) 900-123' }), ['ann'])
  assert.deepEqual(await ids({ q: 'ann_' }), ['ann_2'], 'an underscore is no pattern')
  assert.deepEqual(await ids({ q: 'ann', email: 'anna@example.com' }), ['anna'])
  assert.deepEqual(await ids({ email: 'nn@example.com' }), [], 'no part of an address')
  const first = await search({ q: 'ann', limit: 2 })
  assert.deepEqual([first.items.map(({ user_id }) => user_id), first.next], [['ann', 'ann_2'], 'ann_2'])
  assert.deepEqual(await ids({ q: 'ann', limit: 2, cursor: 'ann_2' }), ['anna'])
  assert.equal((await s.call('GET', '/v1/recipients/search?email=ann@example.com')).status, 404, 'not in an address')
})
