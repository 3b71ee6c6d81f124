import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { browserFiles } from '../files.ts'

test('the whole component is under 15 kB gzipped', () => {
  const bytes = [...browserFiles().values()].reduce((sum, text) => sum + gzipSync(text).length, 0)
  assert.ok(bytes < 15_000, `${bytes} bytes`)
})

test('a browser can load every module, and no module needs one that is not there', () => {
  const files = browserFiles()
  for (const [name, text] of files)
    for (const [, wanted = ''] of text.matchAll(/from '([^']+)'/g))
      assert.ok(files.has(wanted.replace('./', '')), `${name} needs ${wanted}`)
})
