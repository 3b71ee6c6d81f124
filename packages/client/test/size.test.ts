import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { bundleOf } from './support/bundle.ts'

test('the client and the call alone stay small: bytes, minified and compressed', async () => {
  const sizes = { call: 0, facade: 0 }
  sizes.call = gzipSync(await bundleOf("export { call, connect } from './index.ts'"), { level: 9 }).length
  sizes.facade = gzipSync(await bundleOf("export { createGatehouse, clientCredentials } from './index.ts'"), {
    level: 9,
  }).length
  assert.ok(sizes.call <= 4_000 && sizes.facade <= 12_000, JSON.stringify(sizes))
})
