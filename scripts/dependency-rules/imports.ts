/** The imports of source files, type-only imports included. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'

/** One import; both ends are paths from the root of the repository, `to` is a specifier for what is installed. */
export interface Import {
  readonly from: string
  readonly to: string
}

/** Paths of the `.ts`, `.tsx` and `.js` files below a folder of the repository, from its root. */
export function sourceFiles(root: string, folder: string): string[] {
  const path = join(root, folder)
  if (!existsSync(path)) return []
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|js)$/.test(name) && !name.split(sep).includes('node_modules'))
    .map((name) => relative(root, join(path, name)).split(sep).join('/'))
}

/** Reads the imports of one file of the repository. */
export function readImports(root: string, file: string): Import[] {
  return parseImports(file, readFileSync(join(root, file), 'utf8'))
}

const statement =
  /^(?:import|export)\b[^'"]*?from\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm

/** Finds the imports in the text of one file. */
export function parseImports(file: string, text: string): Import[] {
  return [...text.matchAll(statement)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? ''
    return { from: file, to: specifier.startsWith('.') ? posix.join(dirname(file), specifier) : specifier }
  })
}
