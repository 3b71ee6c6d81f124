import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/setup.ts'

const reader = 'read:delivery read:personal-data'

test('recipients are found by address as it is, and by what their ids begin with, page by page', async (t) => {
  const s = await setup({ work: false, tables: { buckets: 4 } })
  t.after(s.close)
  for (let n = 0; n < 7; n++)
    await s.call('PUT', `/v1/recipients/user-${n}`, {
      email: `User-${n % 3}@example.com`,
      phone_number: `+1415555010${n}`,
    })
  await s.call('PUT', '/v1/recipients/vera', { locale: 'de' })
  const search = (body: object, scopes = reader) => s.call('POST', '/v1/recipients/search', body, scopes)
  const ids = async (body: object) => (await search(body)).body.items.map(({ user_id }: { user_id: string }) => user_id)
  assert.deepEqual(await ids({ email: 'user-1@EXAMPLE.com' }), ['user-1', 'user-4'])
  assert.deepEqual(await ids({ phone_number: '+14155550103' }), ['user-3'])
  assert.deepEqual(await ids({ email: 'user-1@example' }), [])
  assert.deepEqual(await ids({ q: 'v' }), ['vera'])
  const first = (await search({ q: 'user', limit: 3 })).body
  const second = (await search({ q: 'user', limit: 3, cursor: first.next })).body
  const third = (await search({ q: 'user', limit: 3, cursor: second.next })).body
  const all = [first, second, third].flatMap(({ items }) => items.map(({ user_id }: { user_id: string }) => user_id))
  assert.deepEqual(
    all,
    [0, 1, 2, 3, 4, 5, 6].map((n) => `user-${n}`),
  )
  assert.equal(third.next, undefined)
  for (const wrong of [{}, { q: 'a', email: 'a@example.com' }]) assert.equal((await search(wrong)).status, 400)
  const masked = await search({ q: 'user-1' }, 'read:delivery')
  assert.doesNotMatch(JSON.stringify(masked.body), /User-1@|4155550101/)
  const guess = await search({ email: 'user-1@example.com' }, 'read:delivery')
  assert.equal(guess.status, 403, 'an answer would confirm a guess')
  assert.equal((await search({ q: 'a' }, 'write:notifications')).status, 403)
})
