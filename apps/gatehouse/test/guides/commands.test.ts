import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseArgs } from 'node:util'
import { commands } from '../../src/command/commands.ts'
import { checkTyped, findCommand, readUsage } from '../../src/command/usage.ts'
import { root } from '../support/program.ts'
import { blocksIn, pages } from './pages.ts'

interface Written {
  readonly page: string
  readonly command: string
}

/** Every command line of the documentation: in blocks, and between backticks in its text. */
const written: readonly Written[] = [
  ...blocksIn('sh').flatMap(({ page, text }) =>
    text
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => ({ page, command: line.replace(/ +#.*/, '').trim() })),
  ),
  ...pages.flatMap(({ path, prose }) =>
    [...prose.matchAll(/`([^`]+)`/g)].map(([, command = '']) => ({
      page: path,
      command: command.replaceAll('\n', ' '),
    })),
  ),
]

/** Command lines that match, with what the pattern captures. */
const matching = (pattern: RegExp) =>
  written.flatMap(({ page, command }) => [...command.matchAll(pattern)].map((match) => ({ page, command, match })))

test('every npm script that the documentation runs is one of the repository', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  const found = matching(/\bnpm (?:run )?(start|test|(?<=run )[\w:]+)(?! -w| .* -w)(?= |$|`)/g)
  assert.ok(found.length > 30)
  assert.deepEqual(
    found.filter(({ match, command }) => !(String(match[1]) in scripts) && !command.includes(' -w ')),
    [],
  )
})

test('every file that the documentation runs is there, and run with the Node that npm installed', () => {
  const found = matching(/(?:^|\s)((?:npx )?)node ([\w./-]+\.ts)/g)
  assert.ok(found.length > 6)
  for (const { page, command, match } of found) {
    assert.ok(existsSync(join(root, String(match[2]))), `${page}: ${command}`)
    const isInside =
      command.startsWith('docker ') ||
      /^(?:ARCHITECTURE|CONTRIBUTING|packages|bench|docs\/(?:scale|console))/.test(page)
    assert.ok(isInside || match[1] === 'npx ', `${page}: ${command} runs with whatever Node the machine has`)
  }
})

test('every command of gatehouse in the documentation is one, with its arguments and options', () => {
  const found = matching(/(?:^|(?<!exec) )gatehouse (?:-- )?([a-z][a-z-]* [a-z][a-z-]*(?: .*)?)$/g)
  assert.ok(found.length > 18, String(found.length))
  for (const { page, command, match } of found) {
    const words = String(match[1]).match(/"[^"]*"|\S+/g) ?? []
    const name = words.slice(0, 2).join(' ')
    const known = findCommand(commands, name)
    if (words.length === 2) continue // The text names it, without what it takes.
    const types = readUsage(known.usage).options.map(
      (option) => [option.name, { type: option.isFlag ? 'boolean' : 'string' }] as const,
    )
    const { positionals, values } = parseArgs({
      args: words.slice(2),
      allowPositionals: true,
      options: Object.fromEntries(types),
    })
    assert.doesNotThrow(() => checkTyped(name, known, { args: positionals, options: values }), `${page}: ${command}`)
  }
})
