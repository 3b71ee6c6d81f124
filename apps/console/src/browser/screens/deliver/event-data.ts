import { findJsonFault, findListFault, type JsonFault } from '../../forms/json-fault.ts'

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

/** Where many events, which are an array or one object a line, are wrong; undefined where only their number is. */
export function findEventsFault(text: string): JsonFault | undefined {
  if (text.trimStart().startsWith('[')) return findListFault(text)
  const lines = text.split('\n')
  const index = lines.findIndex((line) => isFilled(line) && parseObject(line) === undefined)
  const fault = findJsonFault(lines[index] ?? '')
  return fault && { ...fault, line: index + 1 }
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
