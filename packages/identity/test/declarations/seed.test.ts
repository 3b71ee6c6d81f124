import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { setup } from '../support/setup.ts'

test('a generated secret is shown once and works', async () => {
  const seeded = await setup({
    declared: { clients: [{ client_id: 'robot', scopes: ['read:users'] }], users: [{ id: 'bob' }] },
  })
  const [robot, bob] = seeded.identity.seeded
  assert.ok(robot?.kind === 'client' && robot.secret && bob?.kind === 'user' && bob.secret)
  assert.ok(!JSON.stringify(seeded.identity.seeded).includes(robot.secret.reveal()))
  const form = { grant_type: 'client_credentials', client_id: 'robot', client_secret: robot.secret.reveal() }
  assert.equal((await seeded.post('/token', form)).status, 200)
  await seeded.close()
})

test('an id cannot be both a user and a client', async () => {
  const declared = { clients: [{ client_id: 'alice', scopes: [] }], users: [{ id: 'alice' }] }
  await assert.rejects(
    setup({ declared }),
    (error) => error instanceof StartError && /alice belongs to a/.test(error.message),
  )
})
