/** A JSON object. */
export type EventData = Readonly<Record<string, unknown>>

/** Reads the text of a JSON object; undefined for anything else. */
export function parseObject(text: string): EventData | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** Reads many events: a JSON array of objects, or one object a line. Undefined where one of them is none. */
export function parseEvents(text: string): readonly EventData[] | undefined {
  const value = parseJson(text)
  const events = Array.isArray(value) ? (value as unknown[]) : text.split('\n').filter(isFilled).map(parseJson)
  return events.length > 0 && events.every(isObject) ? events : undefined
}

/** Why a text is no JSON, in the words of the browser, which name the place; undefined where it is JSON. */
export function faultOf(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** What is wrong with many events, which are an array or one object a line: the line, from 1, or else why. */
export function faultOfEvents(text: string): { readonly line?: number; readonly reason?: string | undefined } {
  if (text.trimStart().startsWith('[')) return { reason: faultOf(text) }
  const lines = text.split('\n')
  const index = lines.findIndex((line) => isFilled(line) && parseObject(line) === undefined)
  return { line: index + 1, reason: faultOf(lines[index] ?? '') }
}

const isFilled = (line: string) => line.trim() !== ''

function isObject(value: unknown): value is EventData {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
