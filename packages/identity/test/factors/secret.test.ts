import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { KeyRing, reseal, type SealedColumn, Secret, sealingKeyId } from '@gatehouse/kit'
import { identitySealed } from '../../src/postgres/index.ts'
import { createPerson, enrol, isSignedIn } from '../support/factors/factors.ts'
import { clients, TestBrowser, users } from '../support/journey.ts'
import { encryptionKey, type Running, setup } from '../support/setup.ts'

let running: Running
before(async () => {
  running = await setup({ declared: { clients, users }, mfa: 'optional' })
})
after(() => running.close())

async function sealedSecret([id]: readonly [string, string]): Promise<string> {
  const text = 'SELECT secret_sealed FROM identity.authenticator_app WHERE user_id = $1'
  const { rows } = await running.database.query<{ secret_sealed: string }>(text, [id])
  return rows[0]?.secret_sealed ?? assert.fail('no app')
}

test('recovery codes are stored as hashes only', async () => {
  const user = await createPerson(running)
  const { codes } = await enrol(running, user)
  const { rows } = await running.database.query('SELECT * FROM identity.recovery_code WHERE user_id = $1', [user[0]])
  assert.equal(rows.length, 10)
  for (const code of codes) assert.ok(!JSON.stringify(rows).includes(code.replaceAll('-', '')))
})

test('the sealed secret of one user is of no use in the row of another', async () => {
  const [thief, victim] = [await createPerson(running), await createPerson(running)]
  const { app } = await enrol(running, thief)
  await enrol(running, victim)
  const values = [victim[0], await sealedSecret(thief)]
  await running.database.query('UPDATE identity.authenticator_app SET secret_sealed = $2 WHERE user_id = $1', values)
  const browser = new TestBrowser(running)
  const page = await browser.signIn(await browser.get('/account'), ...victim)
  assert.equal((await browser.submit(page, { code: app.nextCode() })).status, 500)
  assert.ok(!(await isSignedIn(browser)))
})

test('a secret is sealed again when the encryption key is replaced, and its codes stay valid', async () => {
  const user = await createPerson(running)
  const { app } = await enrol(running, user)
  const ring = new KeyRing([new Secret('another key 0123456789abcdef0123'), new Secret(encryptionKey)])
  const column = identitySealed.find(({ table }) => table === 'identity.authenticator_app') as SealedColumn
  await running.database.query('DELETE FROM identity.authenticator_app WHERE user_id <> $1', [user[0]])
  assert.equal((await reseal(running.database, column, ring)).resealed, 1)
  assert.equal(sealingKeyId(await sealedSecret(user)), ring.currentId)
  const renewed = await setup({ declared: { clients, users }, mfa: 'optional', encryptionKey: ring }, running.database)
  const browser = new TestBrowser(renewed)
  const page = await browser.signIn(await browser.get('/account'), ...user)
  renewed.clock.advance(running.clock.now() - renewed.clock.now() + 30_000)
  const again = await browser.signIn(await browser.get('/account'), ...user)
  assert.ok(page.text.includes('/login/factor'))
  await browser.submit(again, { code: app.nextCode() })
  assert.ok(await isSignedIn(browser))
  await renewed.close()
})
