import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
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

test('files of a group use one embedded database in turn, and the group ends at once', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'groups-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const testing = pathToFileURL(resolve(import.meta.dirname, '../../testing/src/index.ts')).href
  writeFileSync(
    join(folder, 'prepare.mjs'),
    "let times = 0\nexport const prepare = async () => console.log('made', ++times)\n",
  )
  const files = ['a', 'b'].map((name) => join(folder, 'test', `${name}.test.mjs`))
  mkdirSync(join(folder, 'test'))
  for (const file of files)
    writeFileSync(
      file,
      `import { test } from 'node:test'
       import { memoryDatabase } from '${testing}'
       import { prepare } from '../prepare.mjs'
       test('a row', async () => {
         const database = await memoryDatabase(prepare)
         console.log('rows', (await database.query('SELECT 1')).rows.length)
         await database.close()
       })`,
    )
  const [group] = groupFiles(files, { alone: [], folder: join(folder, 'groups') })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, [group?.path ?? ''], { encoding: 'utf8', env })
  assert.equal(status, 0, stdout + stderr)
  assert.deepEqual(stdout.match(/^(made|rows) .*$/gm), ['made 1', 'rows 1', 'rows 1'])
})
