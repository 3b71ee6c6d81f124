import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Database, KeyRing, manualClock, reseal, Secret, StartError } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { createLinks } from '../../../src/links/links.ts'
import { createReceiptTokens } from '../../../src/links/receipt-token.ts'
import { deliveryIdOf, newId } from '../../../src/model/id.ts'
import { migrateNotify, notifySealed, openLinkSecrets, rotateLinkSecret } from '../../../src/postgres/index.ts'

const oldKey = new Secret('old key 0123456789abcdef01234567')
const newKey = new Secret('new key 0123456789abcdef01234567')
const baseUrl = 'https://api.example'

test('a link in a mail holds after the encryption key it was made under is gone', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const clock = manualClock()
  const first = createLinks({ baseUrl, secret: await openLinkSecrets(database, new KeyRing([oldKey]), clock) })
  const token = first.url('unsubscribe', ['alice', 'news'])?.split('/').at(-1) ?? ''
  const ring = new KeyRing([newKey, oldKey])
  const both = createLinks({ baseUrl, secret: await openLinkSecrets(database, ring, clock) })
  assert.deepEqual(both.read('unsubscribe', token), ['alice', 'news'])
  await assert.rejects(openLinkSecrets(database, new KeyRing([newKey]), clock), StartError)
  for (const column of notifySealed) assert.equal((await reseal(database, column, ring)).resealed, 1)
  const after = createLinks({ baseUrl, secret: await openLinkSecrets(database, new KeyRing([newKey]), clock) })
  assert.deepEqual(after.read('unsubscribe', token), ['alice', 'news'])
  await database.close()
})

const deliveryId = deliveryIdOf(newId(0), 'push')

/** What a process makes and reads with the secrets of a database. */
async function startProcess(database: Database, clock = manualClock()) {
  const secret = await openLinkSecrets(database, new KeyRing([oldKey]), clock)
  const links = createLinks({ baseUrl, secret })
  const tokens = createReceiptTokens({ secret, lifetimeMs: 86_400_000 })
  return {
    refresh: secret.refresh,
    makeLink: () => links.url('unsubscribe', ['alice', 'news'])?.split('/').at(-1) ?? '',
    knowsLink: (token: string) => links.read('unsubscribe', token) !== undefined,
    makeToken: () => tokens.issue(deliveryId, clock.now()),
    knowsToken: (token: string) => tokens.read(token, clock.now()).kind === 'valid',
  }
}

test('what was signed before a rotation works after it, and a new secret signs within a minute', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const clock = manualClock()
  const [one, other] = [await startProcess(database, clock), await startProcess(database, clock)]
  const [link, token] = [one.makeLink(), one.makeToken()]
  const rotated = await rotateLinkSecret(database, new KeyRing([oldKey]), { compromised: false, now: clock.now() })
  assert.deepEqual(rotated, { valid: 2, signsFrom: clock.now() + 60_000 })
  await one.refresh()
  assert.deepEqual([one.makeLink(), one.makeToken()], [link, token], 'others may not have the new one yet')
  clock.advance(60_000)
  assert.notEqual(one.makeLink(), link)
  assert.ok(!other.knowsLink(one.makeLink()))
  await other.refresh()
  assert.equal(other.makeLink(), one.makeLink())
  assert.deepEqual([one.makeLink(), link].map(other.knowsLink), [true, true])
  assert.deepEqual([one.makeToken(), token].map(other.knowsToken), [true, true])
  assert.ok((await startProcess(database, clock)).knowsLink(link), 'nor does a restart end it')
  await database.close()
})

test('nothing that a compromised secret signed works once the others have read the new one', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const clock = manualClock()
  const ring = new KeyRing([oldKey])
  const [one, other] = [await startProcess(database, clock), await startProcess(database, clock)]
  await rotateLinkSecret(database, ring, { compromised: false, now: clock.now() })
  const [link, token] = [one.makeLink(), one.makeToken()]
  const rotated = await rotateLinkSecret(database, ring, { compromised: true, now: clock.now() })
  assert.deepEqual(rotated, { valid: 1, signsFrom: clock.now() })
  for (const each of [one, other]) {
    await each.refresh()
    assert.deepEqual([each.knowsLink(link), each.knowsToken(token)], [false, false])
  }
  assert.ok(other.knowsLink(one.makeLink()) && other.knowsToken(one.makeToken()))
  await database.close()
})

test('rotations at once, beside a change of the encryption key, lose no secret', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const [both, now] = [new KeyRing([newKey, oldKey]), manualClock().now()]
  const link = (await startProcess(database)).makeLink()
  const rotate = () => rotateLinkSecret(database, both, { compromised: false, now })
  const [column = assert.fail()] = notifySealed
  await Promise.all([rotate(), reseal(database, column, both), rotate(), rotate()])
  const secrets = await openLinkSecrets(database, new KeyRing([newKey]), manualClock())
  assert.equal(secrets.valid().length, 4)
  assert.ok(createLinks({ baseUrl, secret: secrets }).read('unsubscribe', link))
  await database.close()
})

test('a secret that cannot be opened is not replaced: processes could not open the new one', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  await startProcess(database)
  const [ring, now] = [new KeyRing([newKey]), manualClock().now()]
  for (const compromised of [false, true])
    await assert.rejects(rotateLinkSecret(database, ring, { compromised, now }), StartError)
  await startProcess(database)
  await database.close()
})

test('of so many secrets that a token would be compared with too many no further one is made', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const [ring, now] = [new KeyRing([oldKey]), manualClock().now()]
  const rotate = (compromised: boolean) => rotateLinkSecret(database, ring, { compromised, now })
  for (let count = 1; count <= 16; count++) assert.equal((await rotate(false)).valid, count)
  await assert.rejects(rotate(false), /^StartError: there are 16 secrets of links already; with --compromised/)
  assert.equal((await rotate(true)).valid, 1)
  await database.close()
})
