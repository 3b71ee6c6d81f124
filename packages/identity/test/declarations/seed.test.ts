import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findDrift, Secret, StartError } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { identityDeclared, migrateIdentity } from '../../src/postgres/index.ts'
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

test('every secret of a declared client is valid, whichever process started last', async () => {
  const [one, two] = ['secret-of-the-old-key-0', 'secret-of-the-new-key-0']
  const database = await memoryDatabase(migrateIdentity)
  const start = (first: string, second: string) => {
    const declared = { clients: [{ client_id: 'robot', client_secret: first }] }
    return setup({ declared, furtherSecrets: { robot: [new Secret(second)] } }, database)
  }
  const processes = [await start(one, two), await start(two, one)]
  for (const { post } of processes)
    for (const client_secret of [one, two]) {
      const form = { grant_type: 'client_credentials', client_id: 'robot', client_secret }
      assert.equal((await post('/token', form)).status, 200)
    }
  const { rows } = await database.query<{ updated_at: number }>(
    "SELECT updated_at - created_at AS updated_at FROM identity.client WHERE id = 'robot'",
  )
  assert.equal(rows[0]?.updated_at, 0, 'the order of the secrets is no change')
  for (const running of processes) await running.close()
  await database.close()
})

test('an id cannot be both a user and a client', async () => {
  const declared = { clients: [{ client_id: 'alice', scopes: [] }], users: [{ id: 'alice' }] }
  await assert.rejects(
    setup({ declared }),
    (error) => error instanceof StartError && /alice belongs to a/.test(error.message),
  )
})

test('a user that differs from the file still does after a command, which declares nothing', async () => {
  const database = await memoryDatabase(migrateIdentity)
  const running = await setup({ declared: { users: [{ id: 'bob' }] }, background: false }, database)
  await database.query("UPDATE identity.account SET updated_at = $1 WHERE id = 'bob'", [Date.now() + 60_000])
  const drift = async () => (await findDrift(database, identityDeclared)).map(({ kind, id }) => `${kind} ${id}`)
  assert.deepEqual(await drift(), ['user bob'])
  const command = await setup({ declared: undefined, background: false }, database)
  assert.deepEqual(await drift(), ['user bob'])
  for (const each of [running, command]) await each.close()
  await database.close()
})
