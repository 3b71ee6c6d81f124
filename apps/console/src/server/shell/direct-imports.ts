import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'

/** Where a name of a package is defined. */
interface Definition {
  readonly path: string
  readonly name: string
}

const statement = /import\s*\{([^}]*)\}\s*from\s*(["'])([^"']+)\2;?/g

/**
 * Imports the names of a package from the files that define them. esbuild puts all that the index of a package names into
 * the first chunk that imports one of them, so that the first load would have what only single screens use.
 */
export function directImports(packageName: string): Plugin {
  return {
    name: `direct imports of ${packageName}`,
    setup(build) {
      const definitions = readDefinitions(packageName)
      build.onLoad({ filter: /(?:console\/src\/.*\.tsx?|@mantine\/.*\.mjs)$/ }, async ({ path }) => {
        const text = await readFile(path, 'utf8')
        if (!text.includes(packageName)) return undefined
        const known = await definitions
        const contents = text.replace(statement, (whole: string, names: string, _quote: string, from: string) =>
          from === packageName ? importEach(names, known) : whole,
        )
        return { contents, loader: path.endsWith('.mjs') ? 'js' : path.endsWith('.tsx') ? 'tsx' : 'ts' }
      })
    },
  }
}

/** One import for each name; types are left out, for they are no code. */
function importEach(names: string, definitions: ReadonlyMap<string, Definition>): string {
  const imports = names.split(',').flatMap((each) => {
    const [imported = '', local = imported] = each.trim().split(/\s+as\s+/)
    if (imported === '' || imported.startsWith('type ')) return []
    const definition = definitions.get(imported)
    if (definition === undefined) throw new Error(`no file defines ${imported}`)
    return [`import { ${definition.name} as ${local} } from ${JSON.stringify(definition.path)};`]
  })
  return imports.join(' ')
}

/** Reads the index of a package, which imports every name and exports it again. */
async function readDefinitions(packageName: string): Promise<ReadonlyMap<string, Definition>> {
  const index = fileURLToPath(import.meta.resolve(packageName))
  const text = await readFile(index, 'utf8')
  const definitions = new Map<string, Definition>()
  for (const [, names = '', , from = ''] of text.matchAll(statement))
    for (const each of names.split(',')) {
      const [name = '', local = name] = each.trim().split(/\s+as\s+/)
      definitions.set(local, { path: from.startsWith('.') ? join(dirname(index), from) : from, name })
    }
  return definitions
}
