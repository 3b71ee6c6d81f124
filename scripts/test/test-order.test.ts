import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { groupOfOne } from '../test-groups.ts'
import {
  isPatient,
  isTimed,
  patientFiles,
  readDurations,
  slowFiles,
  sortByDuration,
  writeDurations,
} from '../test-order.ts'

const root = resolve(import.meta.dirname, '../..')
const inRoot = (name: string) => join(root, name)

test('groups run in the order of what their files took, or of their size when that is not known', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'order-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = (name: string, size: number) => {
    writeFileSync(join(folder, name), 'x'.repeat(size))
    return join(folder, name)
  }
  const [small, large] = [file('small', 10), file('large', 5_000)]
  const measured = inRoot('packages/kit/test/worker.test.ts')
  const order = (ms: number) =>
    sortByDuration([groupOfOne(small), groupOfOne(large), groupOfOne(measured)], {
      'packages/kit/test/worker.test.ts': ms,
    }).map(({ path }) => path)
  assert.deepEqual(order(1), [large, small, measured])
  assert.deepEqual(order(100_000), [measured, large, small])
  const both = { path: 'both', files: [small, measured] }
  assert.equal(sortByDuration([groupOfOne(large), both], { 'packages/kit/test/worker.test.ts': 100_000 })[0], both)
})

test('what a run measured is kept beside what earlier runs did', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'order-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'cache/durations.json')
  assert.deepEqual(readDurations(path), {})
  writeDurations(path, new Map([[inRoot('a.test.ts'), 10.4]]))
  writeDurations(path, new Map([[inRoot('b.test.ts'), 20]]))
  assert.deepEqual(readDurations(path), { 'a.test.ts': 10, 'b.test.ts': 20 })
  writeFileSync(path, '{')
  assert.deepEqual(readDurations(path), {})
})

test('the files that a clean clone runs first, or beside timed ones, are there', () => {
  for (const name of [...slowFiles, ...patientFiles]) assert.ok(existsSync(inRoot(name)), name)
})

test('a file is timed, patient or neither, wherever the command is called', () => {
  const [first = ''] = patientFiles
  assert.ok(isPatient(inRoot(first)))
  assert.equal(isPatient(inRoot('packages/notify/test/scenarios/simulation.long.test.ts')), false)
  assert.deepEqual(patientFiles.filter(isTimed), [])
})
