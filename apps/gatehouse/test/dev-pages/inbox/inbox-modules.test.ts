import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { inboxModules } from '../../../src/dev-pages/inbox/inbox-modules.ts'

test('the whole component is under 15 kB gzipped', () => {
  const bytes = [...inboxModules().values()].reduce((sum, text) => sum + gzipSync(text).length, 0)
  assert.ok(bytes < 15_000, `${bytes} bytes`)
})

test('a browser can load every module of the component and every module it imports', () => {
  const files = inboxModules()
  assert.ok(files.has('index.js'))
  for (const [name, text] of files)
    for (const [, wanted = ''] of text.matchAll(/from '([^']+)'/g))
      assert.ok(files.has(wanted.replace('./', '')), `${name} needs ${wanted}`)
})

test('the component is served without a warning', async () => {
  const warnings: Error[] = []
  process.on('warning', (warning) => warnings.push(warning))
  inboxModules()
  await new Promise(setImmediate)
  assert.deepEqual(
    warnings.filter(({ message }) => message.includes('stripTypeScriptTypes')),
    [],
  )
})
