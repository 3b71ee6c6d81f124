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

test('a hash costs what the options say, and by default 19 MiB and two passes', async () => {
  const byDefault = await new PasswordHasher().hash('correct horse')
  const cheap = await new PasswordHasher({ memoryKiB: 64, passes: 1 }).hash('correct horse')
  assert.match(byDefault, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  assert.match(cheap, /^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
})

test('a hash of another cost matches, and is outdated', async () => {
  const passwords = new PasswordHasher()
  const stored = await new PasswordHasher({ memoryKiB: 64, passes: 1 }).hash('correct horse')
  assert.equal(await passwords.verify('correct horse', stored), true)
  assert.equal(passwords.isOutdated(stored), true)
  assert.equal(passwords.isOutdated(await passwords.hash('correct horse')), false)
})
