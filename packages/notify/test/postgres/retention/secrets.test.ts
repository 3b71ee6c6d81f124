import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyRing, reseal, Secret, StartError } from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { createLinks } from '../../../src/links/links.ts'
import { linkSecret, migrateNotify, notifySealed } from '../../../src/postgres/index.ts'

const oldKey = new Secret('old key 0123456789abcdef01234567')
const newKey = new Secret('new key 0123456789abcdef01234567')
const baseUrl = 'https://api.example'

test('a link in a mail holds after the encryption key it was made under is gone', async () => {
  const database = await memoryDatabase(async (one) => migrateNotify(one))
  const first = createLinks({ baseUrl, secret: await linkSecret(database, new KeyRing([oldKey])) })
  const token = first.url('unsubscribe', ['alice', 'news'])?.split('/').at(-1) ?? ''
  const ring = new KeyRing([newKey, oldKey])
  const both = createLinks({ baseUrl, secret: await linkSecret(database, ring) })
  assert.deepEqual(both.read('unsubscribe', token), ['alice', 'news'])
  await assert.rejects(linkSecret(database, new KeyRing([newKey])), StartError)
  for (const column of notifySealed) assert.equal((await reseal(database, column, ring)).resealed, 1)
  const after = createLinks({ baseUrl, secret: await linkSecret(database, new KeyRing([newKey])) })
  assert.deepEqual(after.read('unsubscribe', token), ['alice', 'news'])
  await database.close()
})
