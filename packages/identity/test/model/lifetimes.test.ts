import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setup } from '../support/setup.ts'

test('a lifetime outside the bounds of the specification is rejected at start', async () => {
  await assert.rejects(setup({ lifetimes: { accessToken: 60 } }), /accessToken must be .* from 300 to 3600, not 60/)
})
