import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Passwords } from '../../src/passwords/hasher.ts'

test('a full queue rejects only the next request and then drains', async () => {
  const passwords = new Passwords({ atOnce: 1, mostWaiting: 1 })
  const [first, second, third] = await Promise.allSettled([
    passwords.hash('correct horse'),
    passwords.matches('correct horse', undefined),
    passwords.matches('correct horse', undefined),
  ])
  assert.deepEqual([first.status, second.status, third.status], ['fulfilled', 'fulfilled', 'rejected'])
  assert.equal(second.status === 'fulfilled' && second.value, false, 'nobody’s password matches')
  assert.equal(passwords.depth, 0)
  assert.equal(await passwords.matches('correct horse', first.status === 'fulfilled' ? first.value : ''), true)
})
