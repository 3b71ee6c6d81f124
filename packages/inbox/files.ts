import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

/** The component as a browser loads it: the text of each module by its name, `index.js` first of all. */
export function browserFiles(): ReadonlyMap<string, string> {
  const folder = new URL('src/', import.meta.url)
  const modules = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  return new Map(
    modules.map((name) => {
      const script = stripTypeScriptTypes(readFileSync(new URL(name, folder), 'utf8'))
      return [name.replace(/\.ts$/, '.js'), script.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'")]
    }),
  )
}
