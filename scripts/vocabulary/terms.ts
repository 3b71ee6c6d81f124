/** What is checked in a file: names of code, names of SQL, and texts that a user reads. */

export interface Term {
  readonly kind: 'name' | 'sql name' | 'text'
  readonly value: string
  /** Counted from 1; 0 for the path of the file. */
  readonly line: number
}

/** The line, from 1, of a place in a text. */
export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** The parts of the path of a file, without endings such as `.long.test.ts`. */
export function pathTerms(path: string): Term[] {
  return path.split('/').map((part) => ({
    kind: 'name',
    value: part.replace(/(\.long)?(\.test)?\.\w+$/, ''),
    line: 0,
  }))
}

/** Each line of a document is a text. */
export function documentTerms(text: string): Term[] {
  return text.split('\n').map((value, index) => ({ kind: 'text', value, line: index + 1 }))
}

/** The names in SQL or Lua; comments and strings are left out. */
export function sqlTerms(text: string, firstLine = 1): Term[] {
  const code = text.replace(/--.*$/gm, '').replace(/'(?:[^']|'')*'/g, (string) => `'${string.replace(/[^\n]/g, '')}'`)
  return [...code.matchAll(/[A-Za-z_]\w*/g)].map(({ 0: value, index }) => ({
    kind: 'sql name',
    value,
    line: firstLine + lineAt(code, index) - 1,
  }))
}
