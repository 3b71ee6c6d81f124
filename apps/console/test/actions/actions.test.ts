import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ActionId, actions, mayDo, operations, roles } from '../../src/actions/index.ts'

test('every operation belongs to an action, and every action to a role', () => {
  const used = new Set(Object.values(actions).map(({ operation }) => operation))
  assert.deepEqual([...used].sort(), Object.keys(operations).sort())
  for (const [id, action] of Object.entries(actions)) assert.ok(action.roles.length > 0, id)
})

test('an owner may do everything, and whoever has no management role nothing', () => {
  for (const id of Object.keys(actions) as ActionId[]) {
    assert.ok(mayDo(id, ['gatehouse-owner']), id)
    assert.ok(!mayDo(id, []) && !mayDo(id, ['reporter']), id)
  }
})

test('what is dangerous is for owners and operators alone', () => {
  for (const action of Object.values(actions).filter(({ dangerous }) => dangerous))
    assert.deepEqual(
      action.roles.filter((role) => role === roles[2] || role === roles[3]),
      [],
    )
})
