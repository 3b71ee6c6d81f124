import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { queries } from '../../src/postgres/queries/index.ts'

const folder = join(import.meta.dirname, '../../src/postgres/queries')
const files = globSync('**/*.sql', { cwd: folder }).sort()
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8')

test('every query of the folder has a name, and nothing of its head travels to the server', () => {
  assert.deepEqual(files.map((file) => file.replace(/\.sql$/, '')).sort(), Object.keys(queries).sort())
  for (const [name, text] of Object.entries(queries)) assert.match(text, /^[^-\s]/, name)
})

test('the head of a query documents each of its parameters once', () => {
  for (const file of files) {
    const [head = ''] = /^(?:--.*\n)+/.exec(textOf(file)) ?? []
    const body = textOf(file).slice(head.length)
    const used = new Set(body.match(/\$\d+/g))
    const documented = [...head.matchAll(/^-- (\$\d+) \w+ \S+/gm)].map(([, parameter]) => parameter)
    const shared = file.startsWith('delivery/claim-groups') ? ['$2'] : []
    assert.deepEqual([...documented, ...shared].sort(), [...used].sort(), file)
  }
})
