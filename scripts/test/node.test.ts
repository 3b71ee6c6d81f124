import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { findNode20, temporaryFolder } from '@gatehouse/testing'

const launcher = join(import.meta.dirname, '../node.mjs')
const node20 = findNode20()

/** TypeScript that an older Node cannot run. */
function programOf(text: string): string {
  const file = join(temporaryFolder('program'), 'program.ts')
  writeFileSync(file, text)
  return file
}

async function outputOf(child: ChildProcess): Promise<string> {
  const [data] = (await once(child.stdout ?? assert.fail('no output'), 'data')) as [Buffer]
  return String(data)
}

const report = `const version: string = process.version
console.log(JSON.stringify([version, process.argv[1], process.argv.slice(2)]))
process.exit(7)`
const waiting = `const timer: object = setInterval(() => {}, 1000)
process.once('SIGTERM', () => process.exit(timer ? 9 : 0))
console.log('ready')`

for (const [name, node] of [
  ['its own Node', process.execPath],
  ['Node 20', node20],
] as const)
  describe(`the launcher on ${name}`, { skip: node === undefined }, () => {
    const path = node ?? ''

    test('runs a program on the pinned Node with its arguments, and ends with its code', () => {
      const file = programOf(report)
      const { status, stdout } = spawnSync(path, [launcher, file, '--flag', 'a b'], { encoding: 'utf8' })
      assert.deepEqual([status, JSON.parse(stdout)], [7, [process.version, file, ['--flag', 'a b']]])
    })

    test('passes a stop on to the program', async () => {
      const child = spawn(path, [launcher, programOf(waiting)], { stdio: ['ignore', 'pipe', 'inherit'] })
      assert.equal(await outputOf(child), 'ready\n')
      child.kill('SIGTERM')
      assert.deepEqual(await once(child, 'exit'), [9, null])
    })
  })

test('every script of the workspace goes through the launcher', () => {
  const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  for (const [name, script] of Object.entries<string>(scripts))
    assert.doesNotMatch(script.replaceAll('node scripts/node.mjs ', ''), /\bnode /, name)
})
