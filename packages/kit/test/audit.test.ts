import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedMembers, type ManagementChange, Problem, recordChange } from '../src/index.ts'

const change: ManagementChange = {
  service: 'notify',
  action: 'templates.update',
  actor: { subject: 'alice' },
  target: { type: 'template', id: 'welcome' },
}

test('only the members that change are recorded, and no secret', () => {
  const before = { name: 'A', scopes: ['x'], secret: 'one', plan: 'free', gone: 1, absent: undefined }
  const after = { name: 'A', scopes: ['x', 'y'], secret: 'two', plan: 'pro', added: true }
  assert.deepEqual(changedMembers(before, after, ['secret']), {
    before: { scopes: ['x'], plan: 'free', gone: 1 },
    after: { scopes: ['x', 'y'], plan: 'pro', added: true },
  })
})

test('a change whose audit event is stored is allowed', async () => {
  const recorded: ManagementChange[] = []
  await recordChange(async (one) => void recorded.push(one), change)
  assert.deepEqual(recorded, [change])
})

test('a change whose audit event cannot be stored is refused with 503', async () => {
  const down = async () => {
    throw new Error('connection refused')
  }
  await assert.rejects(recordChange(down, change), (error) => {
    assert.ok(error instanceof Problem)
    assert.equal(error.status, 503)
    assert.equal(error.headers['retry-after'], '5')
    assert.doesNotMatch(JSON.stringify(error.body()), /connection refused/)
    return true
  })
})
