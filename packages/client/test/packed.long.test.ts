import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'

const root = resolve(import.meta.dirname, '../../..')

/** The libraries that stand alone, each with a function that it exports. */
const libraries = {
  client: 'createGatehouse',
  bearer: 'createBearer',
  limiter: 'createLimiter',
  providers: 'createProvider',
} as const

/** The commands of the first shell block of a README, without their comments. */
function commandsOf(readme: string): string[][] {
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readme) ?? []
  const commands = block.split('\n').flatMap((line) => {
    const [command = ''] = line.split(' #')
    return command.trim() === '' ? [] : [command.trim().split(/\s+/)]
  })
  assert.ok(commands.length > 1, block)
  return commands
}

/** Unpacks an archive as an installed package, beside what it depends on. */
function install(folder: string, name: string, archive: string): void {
  const modules = join(folder, 'node_modules')
  const installed = join(modules, '@gatehouse', name)
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1'])
  const { dependencies = {} } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const each of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, each)), { recursive: true })
    symlinkSync(join(root, 'node_modules', each), join(modules, each))
  }
}

describe('the package that a README has you make is one that a program can load', () => {
  for (const [name, exported] of Object.entries(libraries))
    test(`that of packages/${name}`, () => {
      const commands = commandsOf(readFileSync(join(root, 'packages', name, 'README.md'), 'utf8'))
      const folder = mkdtempSync(join(tmpdir(), `${name}-`))
      try {
        for (const [program = '', ...words] of commands) {
          const where = words[0] === 'pack' ? ['--pack-destination', folder] : []
          execFileSync(program, [...words, ...where], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
        }
        const [archive = ''] = readdirSync(folder)
        install(folder, name, archive)
        const program = `console.log(typeof (await import('@gatehouse/${name}')).${exported})`
        const printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder })
        assert.equal(printed.toString().trim(), 'function')
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
})
