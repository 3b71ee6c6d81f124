import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orderedId } from '../src/index.ts'

test('ids made one after the other are in that order, within a millisecond too', () => {
  const ids = Array.from({ length: 20_000 }, orderedId)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
