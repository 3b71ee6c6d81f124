import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PasswordHasher } from '../../src/passwords/hasher.ts'

test('a full queue rejects only the next request and then drains', async () => {
  const passwords = new PasswordHasher({ maxConcurrent: 1, maxWaiting: 1 })
  const [first, second, third] = await Promise.allSettled([
    passwords.hash('correct horse'),
    passwords.verify('correct horse', undefined),
    passwords.verify('correct horse', undefined),
  ])
  assert.deepEqual([first.status, second.status, third.status], ['fulfilled', 'fulfilled', 'rejected'])
  assert.equal(second.status === 'fulfilled' && second.value, false, 'no stored password means no match')
  assert.equal(passwords.depth, 0)
  assert.equal(await passwords.verify('correct horse', first.status === 'fulfilled' ? first.value : ''), true)
})
