/**
 * Builds the API reference of the libraries from their doc comments: `npm run docs:api` writes HTML into docs/api, one
 * folder per library, or of those named as arguments. `--check` validates and writes nothing. Every warning fails the
 * build: an exported name without a doc comment, a broken link, an unknown tag.
 *
 * TypeDoc needs the compiler API of TypeScript 6, so this folder is a workspace with a TypeScript of its own.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Application, type TypeDocOptions } from 'typedoc'

const root = resolve(import.meta.dirname, '../..')
const libraries = ['bearer', 'client', 'limiter']

const onlyCheck = process.argv.includes('--check')
const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
for (const library of named.length > 0 ? named : libraries) await build(library)

async function build(library: string): Promise<void> {
  const app = await Application.bootstrap(optionsOf(library))
  const project = await app.convert()
  if (project === undefined) return fail()
  app.validate(project)
  if (app.logger.hasErrors() || app.logger.hasWarnings()) return fail()
  if (!onlyCheck) await app.generateOutputs(project)
}

function optionsOf(library: string): TypeDocOptions {
  const folder = join(root, 'packages', library)
  return {
    name: `@gatehouse/${library}`,
    entryPoints: entryPointsOf(folder),
    tsconfig: join(import.meta.dirname, 'tsconfig.json'),
    readme: join(folder, 'README.md'),
    out: join(root, 'docs/api', library),
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    hideGenerator: true,
    logLevel: 'Warn',
    validation: { notExported: false, invalidLink: true, notDocumented: true },
    requiredToBeDocumented: ['Function', 'Class', 'Interface', 'TypeAlias', 'Variable'],
  }
}

/** Every file that the package exports. */
function entryPointsOf(folder: string): string[] {
  const { exports }: { exports: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  )
  return Object.values(exports).map((file) => join(folder, file))
}

function fail(): void {
  process.exitCode = 1
}
