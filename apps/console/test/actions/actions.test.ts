import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ActionId, actions, mayDo, roles, serviceOf } from '../../src/actions/index.ts'

test('every action has an operation of a service, and roles', () => {
  for (const [id, { operation, roles: allowed }] of Object.entries(actions)) {
    assert.ok(serviceOf(operation), id)
    assert.ok(allowed.length > 0, id)
  }
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
