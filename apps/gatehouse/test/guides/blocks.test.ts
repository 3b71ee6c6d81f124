import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { memoryDatabase, temporaryFolder } from '@gatehouse/testing'
import { parseSync } from 'oxc-parser'
import { Faults } from '../../src/config/faults.ts'
import { FileSchema } from '../../src/config/schema/file.ts'
import { readYamlFile } from '../../src/config/yaml-file.ts'
import { root } from '../support/program.ts'
import { type Block, blocksIn, pages, placeOf } from './pages.ts'

/** Languages whose blocks are checked here or, where a file is named, run by that test. */
const languages: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['sh', 'yaml', 'json', 'ts', 'js', 'sql', 'ini'].map((language) => [language, import.meta.filename]),
  ),
  ...Object.fromEntries(
    ['python', 'go', 'java', 'php', 'csharp'].map((language) => [
      language,
      join(import.meta.dirname, '../snippets/run.ts'),
    ]),
  ),
  html: join(root, 'examples/inbox/inbox.long.test.ts'),
  // What is not run: a response, a line for another program, a drawing.
  http: import.meta.filename,
  text: import.meta.filename,
}

/** Configuration of other programs. */
const isOfOthers = ({ text }: Block): boolean => text.startsWith('spring.')

/** The faults of the blocks in these languages, each with its place; there are at least `min` blocks. */
function faultsOf(names: readonly string[], min: number, check: (block: Block) => string | undefined): string[] {
  const blocks = blocksIn(...names)
  assert.ok(blocks.length >= min, `${blocks.length} blocks of ${names.join()}`)
  return blocks.flatMap((block) => {
    const fault = check(block)
    return fault === undefined ? [] : [`${placeOf(block)}: ${fault}`]
  })
}

test('every block of the documentation names a language that is checked', () => {
  const blocks = pages.flatMap((page) => page.blocks)
  assert.ok(blocks.length > 90)
  assert.deepEqual(
    blocks
      .filter(({ language }) => !existsSync(languages[language] ?? ''))
      .map((block) => `${placeOf(block)}: ${block.language}`),
    [],
  )
})

/** A value of the form that a variable of this name has. */
const variableValue = (name: string): string =>
  name.endsWith('_URL') ? 'smtp://user:password@mail.example.com:587' : digits(32)

const digits = (length: number): string => '0'.repeat(length)

/** A block with ids and hashes in full where it abbreviates them. */
const completed = (text: string): string =>
  text.replace('sha256:…', `sha256:${digits(64)}`).replace(/\b(AC|MG)…/g, `$1${digits(32)}`)

test('every YAML block of the documentation is a faultless part of the configuration file', () => {
  const folder = temporaryFolder('guides')
  const fault = (block: Block) => {
    if (isOfOthers(block)) return undefined
    const path = join(folder, 'gatehouse.yaml')
    writeFileSync(path, completed(block.text))
    const variables = [...block.text.matchAll(/\$\{(\w+)\}/g)].map(
      ([, name = '']) => [name, variableValue(name)] as const,
    )
    const faults = new Faults()
    readYamlFile(path, FileSchema, Object.fromEntries(variables), faults)
    try {
      faults.throwIfAny()
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.deepEqual(faultsOf(['yaml'], 12, fault), [])
})

test('every block of JSON, TypeScript and JavaScript in the documentation parses', () => {
  const message = (check: () => void) => {
    try {
      check()
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.deepEqual(
    faultsOf(['json'], 3, ({ text }) => message(() => JSON.parse(text))),
    [],
  )
  assert.deepEqual(
    faultsOf(['ts', 'js'], 25, ({ text }) => parseSync('block.ts', text, { sourceType: 'module' }).errors[0]?.message),
    [],
  )
})

test('every shell block of the documentation is one that bash can read', () => {
  const fault = ({ text }: Block) => {
    try {
      execFileSync('bash', ['-n'], { input: text, stdio: 'pipe' })
    } catch (error) {
      return String((error as { stderr?: Buffer }).stderr)
    }
  }
  assert.deepEqual(faultsOf(['sh'], 20, fault), [])
})

test('every SQL block of the documentation is run by PostgreSQL', async (t) => {
  const database = await memoryDatabase()
  t.after(() => database.close())
  await database.query('CREATE ROLE gatehouse')
  const blocks = blocksIn('sql')
  assert.ok(blocks.length > 0)
  for (const { text } of blocks)
    for (const statement of text.split(';\n')) await database.query(statement.replace(/;$/, ''))
})

test('the unit of systemd starts the program and uses files that there are', () => {
  const [unit] = blocksIn('ini')
  const settings = Object.fromEntries((unit?.text ?? '').split('\n').map((line) => line.split(/=(.*)/, 2)))
  const [node = '', main = ''] = String(settings.ExecStart).split(' ')
  assert.ok(node.startsWith(`${settings.WorkingDirectory}/`), node)
  const program = node.slice(String(settings.WorkingDirectory).length + 1)
  assert.ok(existsSync(join(root, program)), program)
  assert.ok(existsSync(join(root, main)), main)
})
