/** A text as a literal of TypeScript, Python, Go and C#: JSON escapes as they all do. */
export function quoted(text: string): string {
  return JSON.stringify(text)
}

/** A text as a literal of Java, in ASCII: its compiler reads a source in the character set of the system. */
export function javaText(text: string): string {
  return quoted(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A text as a literal of PHP, in which nothing is filled in. */
export function phpText(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** Lines without those that are left out. */
export function lines(...all: readonly (string | false | undefined)[]): string {
  return `${all.filter((line) => line !== false && line !== undefined).join('\n')}\n`
}
