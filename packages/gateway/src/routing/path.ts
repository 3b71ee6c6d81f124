import { Problem } from '@gatehouse/kit'

/**
 * Refuses a request target that an upstream might read as a path other than the one that was matched: dot segments
 * in any spelling, encoded slashes, backslashes, empty segments, and targets that are not a path.
 * @throws Problem 400 naming what was found
 */
export function refuseAmbiguousPath(target: string): void {
  const end = target.search(/[?#]/)
  const path = end < 0 ? target : target.slice(0, end)
  if (!path.startsWith('/')) throw new Problem(400, 'The request target must be a path.')
  const fault = ambiguityIn(path)
  if (fault) throw new Problem(400, `The path contains ${fault}, which makes it ambiguous.`)
}

/** Whether {@link refuseAmbiguousPath} refuses a path. */
export function isAmbiguousPath(path: string): boolean {
  return !path.startsWith('/') || ambiguityIn(path) !== undefined
}

/** Before others, and with parameters too (`/;x/`): servers that drop these merge the two slashes. */
const emptySegment = /\/(?:(?:;|%3b)[^/]*)?\//i

function ambiguityIn(path: string): string | undefined {
  if (!/[\\%;.]|\/\//.test(path)) return undefined
  const fault =
    (/\\|%5c/i.test(path) && 'a backslash') ||
    (/%2f/i.test(path) && 'an encoded slash') ||
    (/%25(?:2e|2f|3b|5c)/i.test(path) && 'a doubly encoded path') ||
    (emptySegment.test(path) && 'an empty segment') ||
    (path.split('/').some(isDotSegment) && 'a dot segment')
  return fault || undefined
}

/** `.` and `..`, percent-encoded too, and before parameters (`..;x`, `..%3bx`), which some servers drop. */
function isDotSegment(segment: string): boolean {
  const [name = ''] = segment.replaceAll(/%3b/gi, ';').split(';', 1)
  return /^\.{1,2}$/.test(name.replaceAll(/%2e/gi, '.'))
}
