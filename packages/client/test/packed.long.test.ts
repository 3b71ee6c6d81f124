import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../../..')

test('the package that the README has you make is one that a program can load', () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  try {
    const readme = readFileSync(join(root, 'packages/client/README.md'), 'utf8')
    const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readme) ?? []
    const commands = block.split('\n').flatMap((line) => {
      const [command = ''] = line.split(' #')
      return command.trim() === '' ? [] : [command.trim().split(/\s+/)]
    })
    assert.ok(commands.length > 1, block)
    for (const [name = '', ...words] of commands) {
      const where = words[0] === 'pack' ? ['--pack-destination', folder] : []
      execFileSync(name, [...words, ...where], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
    }
    const [archive = ''] = readdirSync(folder)
    const installed = join(folder, 'node_modules/@gatehouse/client')
    mkdirSync(installed, { recursive: true })
    execFileSync('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1'])
    const program = `console.log(typeof (await import('@gatehouse/client')).createGatehouse)`
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder })
    assert.equal(printed.toString().trim(), 'function')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
