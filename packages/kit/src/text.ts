import { isUtf8 } from 'node:buffer'

/** Whether PostgreSQL can store the string and JSON can carry it: no NUL, no lone surrogate. */
export function isCleanText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}

/** The pointer of the first string (or member name) in `value` that is no clean text, or undefined. */
export function findUncleanText(value: unknown, pointer: string = ''): string | undefined {
  if (typeof value === 'string') return isCleanText(value) ? undefined : pointer || '/'
  if (Array.isArray(value))
    return firstDefined(
      value.map((item, index) => [String(index), item] as const),
      pointer,
    )
  if (value !== null && typeof value === 'object') return firstDefined(Object.entries(value), pointer)
  return undefined
}

function firstDefined(entries: ReadonlyArray<readonly [string, unknown]>, pointer: string): string | undefined {
  for (const [name, item] of entries) {
    if (!isCleanText(name)) return pointer || '/'
    const found = findUncleanText(item, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** The bytes as text, or undefined when they are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}
