import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundleSources, createBundler } from '../../src/server/shell/bundle.ts'

const maxBytes = 300_000
const maxChartBytes = 25_000

test('the first load is at most 300 kB compressed, and German is not in it', async () => {
  const { assets, script, style, preload } = await createBundler()()
  const first = [script, style, ...preload].map((name) => assets.get(name) ?? assert.fail(name))
  const size = first.reduce((sum, { gzip }) => sum + gzip.length, 0)
  assert.ok(size <= maxBytes, `${size} bytes`)
  assert.ok(first.every(({ bytes }) => !bytes.includes('Audit-Protokoll')))
  assert.ok([...assets.values()].some(({ bytes }) => bytes.includes('Audit-Protokoll')))
})

test('the simulator is loaded when it is used, and is at most 15 kB compressed', async () => {
  const { assets, script, preload } = await createBundler()()
  const found = [...assets].filter(([, { bytes }]) => bytes.includes('X-RateLimit-Limit'))
  assert.equal(found.length, 1)
  for (const [name, { gzip }] of found) {
    assert.ok(name !== script && !preload.includes(name))
    assert.ok(gzip.length <= 15_000, `${gzip.length} bytes`)
  }
})

test('charts are loaded when they are used, in at most 25 kB compressed', async () => {
  const { assets, script, preload } = await createBundler()()
  const found = [...assets].find(
    ([name, { bytes }]) => (name.endsWith('.js') && bytes.includes('uPlot')) || bytes.includes('u-inline'),
  )
  const [name, { gzip }] = found ?? assert.fail('no file draws charts')
  assert.ok(![script, ...preload].includes(name), name)
  assert.ok(gzip.length <= maxChartBytes, `${gzip.length} bytes`)
})

test('unchanged sources are bundled once', async () => {
  const bundle = createBundler()
  const [first, again] = [bundle(), bundle()]
  assert.equal(first, again)
  assert.equal(await bundle(), await first)
})

test('the application compiles no text into code, which its policy forbids', async () => {
  for (const [name, contents] of await bundleSources())
    assert.doesNotMatch(Buffer.from(contents).toString('utf8'), /new Function\(|\beval\(/, name)
})

test('the editor of templates is at most 125 kB compressed, and is loaded when it is used', async () => {
  const { assets, script, preload } = await createBundler()()
  const editor = [...assets].filter(([name, { bytes }]) => name.endsWith('.js') && bytes.includes('cm-content'))
  assert.ok(editor.length > 0)
  assert.ok(editor.every(([name]) => name !== script && !preload.includes(name)))
  const size = editor.reduce((sum, [, { gzip }]) => sum + gzip.length, 0)
  assert.ok(size <= 125_000, `${size} bytes`)
})
