import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

let kept: ReadonlyMap<string, string> | undefined

/**
 * The component `@gatehouse/inbox` as a browser loads it: the text of each module by its name, `index.js` first of all.
 * From its sources where they are, which nothing has to be built for; else as it was published.
 */
export function inboxModules(): ReadonlyMap<string, string> {
  kept ??= readModules(new URL('..', import.meta.resolve('@gatehouse/inbox')))
  return kept
}

function readModules(home: URL): ReadonlyMap<string, string> {
  const [sources, built] = [new URL('src/', home), new URL('dist/', home)]
  const fromSources = existsSync(sources)
  const folder = fromSources ? sources : built
  const names = readdirSync(folder).filter((name) => /(?<!\.d)\.ts$|\.js$/.test(name))
  return new Map(
    names.map((name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      return [name.replace(/\.ts$/, '.js'), fromSources ? asScript(text) : text]
    }),
  )
}

function asScript(source: string): string {
  // Types leave blanks where they were.
  return withoutTypes(source)
    .replaceAll(/\s+$/gm, '')
    .replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")
}

/** Node says once a process that this is experimental. The Node that runs it is pinned, so its operator need not hear it. */
function withoutTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
