import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** A secret that is given as it is, or as the path of the file that holds it: told apart by how it begins. */
export function readTextOrFile(value: string, begins: RegExp, folder: string): string {
  if (begins.test(value)) return value
  const path = resolve(folder, value)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RangeError(`names the file ${path}, which can't be read (${(error as { code?: string }).code})`)
  }
}
