/**
 * Puts test files together that share a process: to load the modules of a service takes longer than most files do. A
 * group is a file of its own, written anew each run, in which each test file is one suite: its hooks run around its own
 * tests, and the files run one after the other.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beginGroup } from '../testing/src/test-group.ts'

const filesOfGroup = 24

/** They look at what happens once in the life of a process. */
const needsOwnProcess: ReadonlySet<string> = new Set(['inbox-modules.test.ts'])

/** What runs in a process: a test file, or several by way of a file that imports them. */
export interface Group {
  readonly path: string
  readonly files: readonly string[]
}

export interface GroupOptions {
  /** Files that are to have a process of their own. */
  readonly alone: readonly string[]
  /** Where the groups are written. */
  readonly folder: string
}

/** What to run instead of `files`: groups of files that are next to each other and of one package. */
export function groupFiles(files: readonly string[], { alone, folder }: GroupOptions): Group[] {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const single = files.filter((file) => alone.includes(file) || needsOwnProcess.has(basename(file)))
  const packages = Map.groupBy(
    files.filter((file) => !single.includes(file)),
    packageOf,
  )
  const groups = [...packages].flatMap(([name, members]) =>
    chunks(members).map((group, index) => {
      const path = join(folder, `${name}-${index + 1}.mjs`)
      writeFileSync(path, textOf(group))
      return { path, files: group }
    }),
  )
  return [...groups, ...single.map(groupOfOne)]
}

/** A test file in a process of its own. */
export const groupOfOne = (file: string): Group => ({ path: file, files: [file] })

const packageOf = (file: string): string => {
  const folders = file.split(/[\\/]/)
  return folders[folders.lastIndexOf('test') - 1] ?? basename(file)
}

/** As many groups as are needed, of much the same length. */
function chunks(files: readonly string[]): string[][] {
  const size = Math.ceil(files.length / Math.ceil(files.length / filesOfGroup))
  return Array.from({ length: Math.ceil(files.length / size) }, (_, i) => files.slice(i * size, (i + 1) * size))
}

const testGroup = pathToFileURL(join(import.meta.dirname, '../testing/src/test-group.ts')).href

const textOf = (files: readonly string[]): string => `import { describe } from 'node:test'
import { ${beginGroup.name} } from ${JSON.stringify(testGroup)}
${beginGroup.name}()
${files
  .map((file) => {
    const title = relative(join(import.meta.dirname, '..'), file)
    return `describe(${JSON.stringify(title)}, async () => void (await import(${JSON.stringify(pathToFileURL(file).href)})))`
  })
  .join('\n')}
`
