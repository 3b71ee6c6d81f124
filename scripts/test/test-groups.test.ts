import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { groupFiles } from '../test-groups.ts'

test('every test file runs once, in a group of its package or in a process of its own', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'groups-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const of = (name: string, count: number) =>
    Array.from({ length: count }, (_, n) => `/house/packages/${name}/test/${n % 2 ? 'deep/' : ''}${n}.test.ts`)
  const named = '/house/packages/kit/test/0.test.ts'
  const needsOwn = '/house/apps/gatehouse/test/dev-pages/inbox-modules.test.ts'
  const files = [...of('notify', 71), needsOwn, ...of('kit', 7), ...of('bearer', 1)]
  const groups = groupFiles(files, { alone: [named], folder })
  const importedBy = (path: string) =>
    path.startsWith(folder)
      ? [...readFileSync(path, 'utf8').matchAll(/import\("file:\/\/([^"]+)"\)/g)].map(([, file = '']) => file)
      : [path]
  const run = groups.map(({ path }) => importedBy(path))
  assert.deepEqual(
    groups.map((group) => group.files),
    run,
  )
  assert.deepEqual(run.flat().sort(), [...files].sort())
  assert.ok(run.every((members) => members.length <= 24))
  for (const members of run)
    assert.equal(new Set(members.map((file) => file.split('/')[3])).size, 1, `of one package: ${members}`)
  for (const alone of [named, needsOwn]) assert.ok(groups.some(({ path }) => path === alone))
})
