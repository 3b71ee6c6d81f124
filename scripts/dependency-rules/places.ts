/** Where a path or a specifier belongs: its package, its folder, its engine. */
import { engines } from './layout.ts'

/** The package of a source path or of a specifier `@gatehouse/…`; undefined for what is neither. */
export function packageOf(path: string): string | undefined {
  return /^@gatehouse\/([\w-]+)/.exec(path)?.[1] ?? /^(?:(?:packages|apps)\/)?([\w-]+)\//.exec(path)?.[1]
}

/** The first folder of a source file below `src`, '' for a root file; undefined outside of packages and apps. */
export function folderOf(path: string): string | undefined {
  const match = /^(?:packages|apps)\/[\w-]+\/src\/(?:([\w-]+)\/)?/.exec(path)
  return match === null ? undefined : (match[1] ?? '')
}

/** The name of a root file without its extension; undefined for a file in a folder. */
export function rootFileOf(path: string): string | undefined {
  return /^(?:packages|apps)\/[\w-]+\/src\/([\w.-]+?)\.(?:tsx?|js)$/.exec(path)?.[1]
}

/** The path of the engine folder that a file is in, or the specifier of an engine; undefined for other files. */
export function engineOf(path: string): string | undefined {
  const names = engines.join('|')
  return (
    new RegExp(`^(?:packages|apps)/[\\w-]+/src/(?:[\\w-]+/)*?(?:${names})(?=/)`).exec(path)?.[0] ??
    new RegExp(`^@gatehouse/[\\w-]+/(?:${names})$`).exec(path)?.[0]
  )
}
