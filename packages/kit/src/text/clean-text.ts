import { isUtf8 } from 'node:buffer'
import type { Fault } from '../problem.ts'

/** How deep JSON from outside may be nested: more than any request needs, less than the stack allows. */
export const maxJsonDepth = 64

/** Whether PostgreSQL can store the string and JSON can carry it: no NUL, no lone surrogate. */
export function isCleanText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed()
}

const unclean = 'must be text without U+0000 and without lone surrogates'
const tooDeep = `must not be nested deeper than ${maxJsonDepth} levels`

/** The first string or member name in `value` that is no clean text, or where it is nested too deep. Bytes are no text. */
export function findTextFault(value: unknown): Fault | undefined {
  return faultIn(value, '', 0)
}

function faultIn(value: unknown, pointer: string, depth: number): Fault | undefined {
  if (typeof value === 'string') return isCleanText(value) ? undefined : { pointer: pointer || '/', detail: unclean }
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return undefined
  if (depth >= maxJsonDepth) return { pointer, detail: tooDeep }
  for (const [name, item] of Object.entries(value)) {
    if (!isCleanText(name)) return { pointer: pointer || '/', detail: unclean }
    if (typeof item === 'string' && isCleanText(item)) continue
    const found = faultIn(item, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** The bytes as text, or undefined when they are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}
