import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findSimilarName } from '../../src/text/similar-name.ts'

const known = ['tiers', 'user_id', 'redirect_uris', 'url', 'channel']

test('a name in another spelling or with a typo is recognized', () => {
  for (const [name, meant] of [
    ['tier', 'tiers'],
    ['userId', 'user_id'],
    ['USER-ID', 'user_id'],
    ['redirect_url', 'redirect_uris'],
    ['chanel', 'channel'],
  ] as const)
    assert.equal(findSimilarName(name, known), meant, name)
})

test('a name is not recognized that is close to none, too short to say or too long to compare', () => {
  for (const name of ['colour', 'usr', '', 'channel'.padEnd(65, 'l')])
    assert.equal(findSimilarName(name, known), undefined, name)
  assert.equal(findSimilarName('tier', []), undefined)
})
