import { isUtf8 } from 'node:buffer'

/** A JSON object, not to be changed. */
export type JsonObject = Readonly<Record<string, unknown>>

const space = 0x20
const quote = 0x22
const colon = 0x3a
const backslash = 0x5c

/**
 * Parses UTF-8 JSON that must be one object without repeated members at any depth: two parsers that disagree about
 * which of two `sub` counts can be exploited (RFC 7519 §4, RFC 8725 §2.4). The result is deeply frozen, since requests
 * share it.
 *
 * @throws SyntaxError when the bytes are anything else
 */
export function parseStrictJson(bytes: Buffer): JsonObject {
  if (!isUtf8(bytes)) throw new SyntaxError('not UTF-8')
  const text = bytes.toString('utf8')
  const value: unknown = JSON.parse(text)
  if (!isJsonObject(value)) throw new SyntaxError('not a JSON object')
  if (membersInText(text) !== freezeAndCount(value)) throw new SyntaxError('a member is repeated')
  return value
}

/** Whether a parsed JSON value is an object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Deeply freezes an object and returns it. */
export function freezeJson(value: JsonObject): JsonObject {
  freezeAndCount(value)
  return value
}

/** The members in the text. It is valid JSON, so a string before a colon is always a member's name. */
function membersInText(text: string): number {
  let count = 0
  for (let start = text.indexOf('"'); start !== -1; ) {
    let next = endOfString(text, start)
    while (text.charCodeAt(next) <= space) next++
    if (text.charCodeAt(next) === colon) count++
    start = text.indexOf('"', next)
  }
  return count
}

/** The index after the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  for (let code = text.charCodeAt(index); code !== quote; code = text.charCodeAt(index)) {
    index += code === backslash ? 2 : 1
  }
  return index + 1
}

/** The members of the parsed value: fewer than in the text when one is repeated. Not recursive: the sender chooses the depth. */
function freezeAndCount(root: object): number {
  let count = 0
  const open: object[] = [root]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    if (inner !== value) count += inner.length
    for (const one of inner) if (typeof one === 'object' && one !== null) open.push(one)
    Object.freeze(value)
  }
  return count
}
