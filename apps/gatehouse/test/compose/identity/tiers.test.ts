import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tiersOfFile } from '../../../src/compose/identity/identity.ts'
import type { Settings } from '../../../src/config/config.ts'
import type { File } from '../../../src/config/schema/file.ts'

const tiersOf = (services: readonly ('identity' | 'gateway')[], file: File) =>
  tiersOfFile({ settings: { services: new Set(services) } as unknown as Settings, file })

test('the tiers are those of the file, or of the gateway in the program, or unknown', () => {
  const tiers = { bronze: { rpm: 5 }, gold: { rpm: 500 } }
  assert.deepEqual(tiersOf(['identity', 'gateway'], { tiers }), ['bronze', 'gold'])
  assert.deepEqual(tiersOf(['identity'], { tiers }), ['bronze', 'gold'])
  assert.deepEqual(tiersOf(['identity', 'gateway'], {}), ['free', 'pro'])
  assert.equal(tiersOf(['identity'], {}), undefined)
})
