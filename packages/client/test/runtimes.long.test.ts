import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { requireProgram, testWith } from '@gatehouse/testing'

/** Tests of the client that need nothing of Node but its test runner, which other runtimes have too. */
const portable = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) =>
    /^(?:call|credentials|bulk|paging|stream|webhooks)[\\/].*\.test\.ts$|^gatehouse\.test\.ts$/.test(name),
  )
  .map((name) => `./${join('packages/client/test', name)}`)

const cwd = join(import.meta.dirname, '../../..')

/** How a runtime runs tests, and what it prints when all of them passed. */
const runtimes = {
  deno: { args: ['test', '--allow-all', '--no-check', '--node-modules-dir=manual'], passed: /\d+ passed.* 0 failed/ },
  bun: { args: ['test'], passed: /^ *0 fail$/m },
} as const

for (const name of ['deno', 'bun'] as const)
  testWith(name, `the client passes its tests under ${name}`, () => {
    const { args, passed } = runtimes[name]
    const env = { ...process.env, NO_COLOR: '1' }
    const { status, stdout, stderr } = spawnSync(requireProgram(name), [...args, ...portable], {
      cwd,
      env,
      encoding: 'utf8',
    })
    assert.equal(status, 0, stdout + stderr)
    assert.match(stdout + stderr, passed)
  })
