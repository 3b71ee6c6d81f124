/** What V8 says of a text without quoting from it: it names the place then. */
const withPlace = /^(?:Unexpected end of JSON input|[^"]+ in JSON at position \d+ \(line \d+ column \d+\))$/

/**
 * What is wrong with a text that is not JSON, and where: `error` is what `JSON.parse` threw. Nothing of the text is quoted,
 * which may be sensitive. V8 quotes from it instead of naming the place of a character that may nowhere be.
 */
export function describeJsonFault(text: string, error: unknown): string {
  const { message } = error as Error
  if (withPlace.test(message)) return message
  // The place is the length of the longest beginning in which V8 misses something, but finds nothing wrong.
  let [position, wrong] = [0, text.length]
  while (wrong - position > 1) {
    const middle = Math.floor((position + wrong) / 2)
    if (isWrong(text.slice(0, middle))) wrong = middle
    else position = middle
  }
  const lines = text.slice(0, position).split(/\r\n?|\n/)
  const column = (lines.at(-1)?.length ?? 0) + 1
  return `Unexpected character in JSON at position ${position} (line ${lines.length} column ${column})`
}

/** Whether the fault of a text is a character in it, and not just that it ends too early. */
function isWrong(beginning: string): boolean {
  try {
    JSON.parse(beginning)
    return false
  } catch (error) {
    return !withPlace.test((error as Error).message)
  }
}
