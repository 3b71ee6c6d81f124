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

/** A place in a text, both from 1. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** Where a text stops being JSON; undefined where it is JSON, or the browser does not say. */
export function findFault(text: string): TextPlace | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const message = String(error)
    const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? []
    if (line !== undefined && column !== undefined) return { line: Number(line), column: Number(column) }
    if (!/end of (JSON input|data)/.test(message)) return undefined
    const lines = text.split('\n')
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
  }
}

/** Where many events, an array or one object a line, are none: the line, from 1. */
export function findBadLine(text: string): number {
  if (text.trimStart().startsWith('[')) return findFault(text)?.line ?? 1
  return text.split('\n').findIndex((line) => isFilled(line) && parseObject(line) === undefined) + 1
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
