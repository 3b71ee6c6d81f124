import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ActionId, actions, factsOf, isForRole, mayDo, roles, serviceOf } from '../../src/actions/index.ts'

test('every action has an operation of a service, and roles', () => {
  for (const [id, { operation, roles: allowed }] of Object.entries(actions)) {
    assert.ok(serviceOf(operation), id)
    assert.ok(allowed.length > 0, id)
  }
})

test('an owner may do everything, and whoever has no management role nothing', () => {
  for (const id of Object.keys(actions) as ActionId[]) {
    assert.ok(isForRole(id, ['gatehouse-owner']), id)
    assert.ok(!isForRole(id, []) && !isForRole(id, ['reporter']), id)
  }
})

test('one of the scopes of its operation is enough for an action, and needed', () => {
  for (const id of Object.keys(actions) as ActionId[]) {
    const { scopes = [] } = factsOf(actions[id].operation)
    for (const scope of scopes) assert.ok(mayDo(id, [scope]), `${id}: ${scope}`)
    assert.equal(mayDo(id, ['read:nothing']), scopes.length === 0, id)
  }
})

test('what is dangerous is for owners and operators alone', () => {
  for (const action of Object.values(actions).filter(({ dangerous }) => dangerous))
    assert.deepEqual(
      action.roles.filter((role) => role === roles[2] || role === roles[3]),
      [],
    )
})
