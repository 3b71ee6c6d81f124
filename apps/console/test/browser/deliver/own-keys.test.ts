import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { withOwnKey, withOwnKeys } from '../../../src/browser/screens/deliver/send/own-keys.ts'

const event = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' } }
const keysOf = (events: readonly { readonly dedup_key?: unknown }[]) => events.map(({ dedup_key }) => dedup_key)

describe('the dedup keys of a form', () => {
  test('are the same for the same event of one form, others for another text or form', async () => {
    const [first] = keysOf([await withOwnKey('form', event)])
    assert.match(String(first), /^form-[0-9a-f]{16}$/)
    assert.deepEqual(keysOf([await withOwnKey('form', { ...event })]), [first])
    const others = [
      await withOwnKey('form', { ...event, data: { order_id: 'A-2' } }),
      await withOwnKey('other', event),
      await withOwnKey('form', event, '2030-01-01T00:00:00.000Z'),
      await withOwnKey('form', event, '2030-01-01T00:00:01.000Z'),
    ]
    assert.equal(new Set([first, ...keysOf(others)]).size, 5)
  })

  test('are not given to an event that has one, also one that the server refuses', async () => {
    for (const key of ['mine', '', null])
      assert.deepEqual(await withOwnKeys('form', [{ ...event, dedup_key: key }]), [{ ...event, dedup_key: key }])
    const own = { ...event, dedup_key: 'mine' }
    assert.equal(await withOwnKey('form', own), own)
  })

  test('differ within a list, and stay with each event in whatever place it is', async () => {
    const lists = fc.array(fc.record({ event: fc.constantFrom('a', 'b'), data: fc.nat(3) }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(lists, async (events) => {
        const keys = keysOf(await withOwnKeys('form', events))
        assert.equal(new Set(keys).size, events.length)
        assert.deepEqual(new Set(keysOf(await withOwnKeys('form', events.toReversed()))), new Set(keys))
        assert.deepEqual(
          new Set(keysOf(await withOwnKeys('form', events.slice(0, -1)))).difference(new Set(keys)).size,
          0,
        )
      }),
    )
  })
})
