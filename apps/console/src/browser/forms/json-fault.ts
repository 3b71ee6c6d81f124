/** What is expected at a place of a text, where something else is. */
export type JsonExpectation = 'value' | 'name' | 'colon' | 'comma' | 'end' | 'object'

/** Where a text is not the JSON object that is expected. The words of browsers differ, and some name no place. */
export interface JsonFault {
  /** From 1. */
  readonly line: number
  /** From 1, in UTF-16 units. */
  readonly column: number
  readonly expected: JsonExpectation
}

const space = /[ \t\n\r]*/y
// Controls are escaped in a string, except those beyond ASCII.
const token =
  /[{}[\],:]|"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/uy

/** Finds the first place where a text stops to be a JSON object (RFC 8259). Undefined where it is one. */
export function findJsonFault(text: string): JsonFault | undefined {
  return findFault(text, 0)
}

/** Finds the first place where a text stops to be a JSON array of objects. Undefined where it is one. */
export function findListFault(text: string): JsonFault | undefined {
  return findFault(text, 1)
}

/** What may come next: within an array or an object, its end too where it has no member yet. */
type State = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'comma' | 'end'

const expectations: Readonly<Record<State, JsonExpectation>> = {
  value: 'value',
  'first value': 'value',
  name: 'name',
  'first name': 'name',
  colon: 'colon',
  comma: 'comma',
  end: 'end',
}

/** `depth` is in how many brackets the objects are: every value there has to be one. */
function findFault(text: string, depth: 0 | 1): JsonFault | undefined {
  const open: ('{' | '[')[] = []
  let state: State = 'value'
  let at = skipSpace(text, 0)
  while (at < text.length || state !== 'end') {
    const isObject: boolean = open.length === depth && (state === 'value' || state === 'first value')
    const read = readToken(text, at)
    const isOther: boolean = isObject && read !== '{' && !(depth === 1 && read === ']')
    const next: State | undefined = read === undefined || isOther ? undefined : advance(state, read, open)
    if (read === undefined || next === undefined)
      return { ...placeOf(text, at), expected: isObject ? 'object' : expectations[state] }
    state = next
    at = skipSpace(text, at + read.length)
  }
  return undefined
}

/** The state after a token, undefined where it may not come. `open` are the objects and arrays around it. */
function advance(state: State, read: string, open: ('{' | '[')[]): State | undefined {
  const isValue = state === 'value' || state === 'first value'
  if (isValue && (read === '{' || read === '[')) {
    open.push(read)
    return read === '{' ? 'first name' : 'first value'
  }
  if ((read === '}' || read === ']') && isClosing(state, read, open)) {
    open.pop()
    return open.length === 0 ? 'end' : 'comma'
  }
  if (/^[{}[\],:]$/.test(read)) return afterMark(state, read, open)
  if (isValue) return open.length === 0 ? 'end' : 'comma'
  return (state === 'name' || state === 'first name') && read.startsWith('"') ? 'colon' : undefined
}

function isClosing(state: State, read: '}' | ']', open: readonly ('{' | '[')[]): boolean {
  const isInObject = open.at(-1) === '{'
  if (state === 'comma') return isInObject === (read === '}')
  return state === (read === '}' ? 'first name' : 'first value')
}

function afterMark(state: State, read: string, open: readonly ('{' | '[')[]): State | undefined {
  if (state === 'colon' && read === ':') return 'value'
  if (state !== 'comma' || read !== ',') return undefined
  return open.at(-1) === '{' ? 'name' : 'value'
}

function skipSpace(text: string, at: number): number {
  space.lastIndex = at
  return at + (space.exec(text)?.[0].length ?? 0)
}

function readToken(text: string, at: number): string | undefined {
  token.lastIndex = at
  return token.exec(text)?.[0]
}

function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
