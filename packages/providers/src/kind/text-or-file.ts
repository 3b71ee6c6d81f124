import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * The text of an option that holds a key itself or the name of its file. Text that starts like `start` is the key.
 * @throws RangeError if the file cannot be read
 */
export function readTextOrFile(value: string, start: RegExp, folder: string): string {
  if (start.test(value)) return value
  const path = resolve(folder, value)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new RangeError(`names the file ${path}, which can't be read (${(error as { code?: string }).code})`)
  }
}
