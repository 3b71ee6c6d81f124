import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parseImports, readImports, sourceFiles } from '../dependency-rules/imports.ts'
import type { Layout } from '../dependency-rules/layout.ts'
import { findViolations } from '../dependency-rules/rules.ts'

const layout: Layout = {
  gatehouse: { role: 'app', lower: ['config'], entries: ['main'] },
  notify: { role: 'service', lower: ['model', 'store', 'http'], entries: ['notify'] },
  identity: { role: 'service', lower: ['model'] },
  kit: { role: 'library', lower: ['text'] },
  limiter: { role: 'library' },
  inbox: { role: 'browser' },
  testing: { role: 'tool' },
}

const violationsOf = (files: Readonly<Record<string, string>>) =>
  findViolations(
    Object.entries(files).flatMap(([file, text]) => parseImports(file, text)),
    layout,
  )

test('allowed imports are no violation', () => {
  const files = {
    'apps/gatehouse/src/compose/notify.ts': `import { createNotify } from '@gatehouse/notify'
      import { createStore } from '@gatehouse/notify/postgres'`.replaceAll('      ', ''),
    'apps/gatehouse/src/compose/gateway/counters.ts': "import { redisStore } from '@gatehouse/limiter/redis'",
    'packages/notify/src/routes.ts': "import { plan } from './plan/plan.ts'",
    'packages/notify/src/plan/plan.ts':
      "import type { Clock } from '@gatehouse/kit'\nimport { id } from '../model/id.ts'",
    'packages/notify/src/store/postgres/plan.ts':
      "import { id } from '../../model/id.ts'\nimport { row } from './row.ts'",
    'packages/notify/src/model/id.ts': "import { readFileSync } from 'node:fs'",
    'testing/src/server.ts': "import { Pool } from 'pg'\nimport { start } from '@gatehouse/gatehouse'",
  }
  assert.deepEqual(violationsOf(files), [])
})

for (const { rule, file, text, expected } of [
  {
    rule: 'a service that imports a service',
    file: 'packages/notify/src/plan/plan.ts',
    text: "import { Caller } from '@gatehouse/identity'",
    expected: /services never import each other/,
  },
  {
    rule: 'a service that imports the app',
    file: 'packages/notify/src/plan/plan.ts',
    text: "import { start } from '@gatehouse/gatehouse'",
    expected: /imports library packages only/,
  },
  {
    rule: 'a library package that imports another one, as a type',
    file: 'packages/limiter/src/limiter.ts',
    text: "import type { Clock } from '@gatehouse/kit'",
    expected: /limiter is a library package: it imports no package of ours/,
  },
  {
    rule: 'a browser package that imports a service',
    file: 'packages/inbox/src/panel.ts',
    text: "import { item } from '@gatehouse/notify'",
    expected: /inbox runs in a browser/,
  },
  {
    rule: 'source of the app that imports test servers',
    file: 'apps/gatehouse/src/main.ts',
    text: "import { startPostgres } from '@gatehouse/testing'",
    expected: /tests and benchmarks start servers/,
  },
  {
    rule: 'a package that reaches into the files of another one',
    file: 'packages/notify/src/plan/plan.ts',
    text: "import { clip } from '../../../kit/src/text/clip.ts'",
    expected: /import it by its name/,
  },
  {
    rule: 'a package that is not in the table',
    file: 'packages/billing/src/index.ts',
    text: "import { clip } from '@gatehouse/kit'",
    expected: /billing is not in the table of packages/,
  },
  {
    rule: 'a feature folder that imports another one',
    file: 'packages/notify/src/plan/plan.ts',
    text: "import { send } from '../deliver/send.ts'",
    expected: /a feature folder imports no other feature folder/,
  },
  {
    rule: 'a lower folder that imports a feature folder, in an inline type',
    file: 'packages/notify/src/store/store.ts',
    text: "type Plan = import('../plan/plan.ts').Plan",
    expected: /a lower folder imports no feature folder/,
  },
  {
    rule: 'an engine that imports a feature folder',
    file: 'packages/notify/src/postgres/plan.ts',
    text: "import { Plan } from '../plan/plan.ts'",
    expected: /a lower folder imports no feature folder/,
  },
  {
    rule: 'a feature folder that imports an entry file',
    file: 'packages/notify/src/plan/plan.ts',
    text: "export { routes } from '../routes.ts'",
    expected: /no folder imports an entry file/,
  },
  {
    rule: 'an entry file of the table imported by a lower folder',
    file: 'packages/notify/src/model/id.ts',
    text: "import { createNotify } from '../notify.ts'",
    expected: /no folder imports an entry file/,
  },
  {
    rule: 'an engine imported by a feature folder, by its path',
    file: 'packages/notify/src/plan/plan.ts',
    text: "import { writePlan } from '../store/postgres/plan.ts'",
    expected: /only compose\/ and tests import an engine/,
  },
  {
    rule: 'an engine imported by the app outside of compose/, by its name',
    file: 'apps/gatehouse/src/main.ts',
    text: "import { createStore } from '@gatehouse/limiter/redis'",
    expected: /only compose\/ and tests import an engine/,
  },
])
  test(`${rule} is reported`, () => {
    const violations = violationsOf({ [file]: text })
    assert.equal(violations.length, 1, violations.join('\n'))
    assert.ok(violations[0]?.startsWith(`${file} imports `))
    assert.match(violations[0] ?? '', expected)
  })

test('a cycle of files is reported with its path, though one import is of a type only', () => {
  const violations = violationsOf({
    'packages/notify/src/model/a.ts': "import type { B } from './b.ts'",
    'packages/notify/src/model/b.ts': "import { c } from './c.ts'",
    'packages/notify/src/model/c.ts': "import { a } from './a.ts'",
  })
  const [a, b, c] = ['a', 'b', 'c'].map((name) => `packages/notify/src/model/${name}.ts`)
  assert.deepEqual(violations, [`import cycle: ${a} -> ${b} -> ${c} -> ${a}`])
})

test('a cycle of lower folders is reported, though no files form one', () => {
  const violations = violationsOf({
    'packages/notify/src/model/a.ts': "import { b } from '../http/b.ts'",
    'packages/notify/src/http/c.ts': "import { d } from '../model/d.ts'",
  })
  assert.deepEqual(violations, ['cycle of lower folders: notify: model -> notify: http -> notify: model'])
})

test('imports are read from the files below a folder', (t) => {
  const root = mkdtempSync(join(tmpdir(), 'dependency-rules-'))
  t.after(() => rmSync(root, { recursive: true }))
  const file = 'packages/notify/src/plan/plan.ts'
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(
    join(root, file),
    "import {\n  a,\n  type B,\n} from '../model/a.ts'\n// import { c } from 'c'\nimport 'd'\n",
  )
  assert.deepEqual(
    sourceFiles(root, 'packages/notify/src').flatMap((path) => readImports(root, path)),
    [
      { from: file, to: 'packages/notify/src/model/a.ts' },
      { from: file, to: 'd' },
    ],
  )
  assert.deepEqual(sourceFiles(root, 'packages/missing/src'), [])
})
