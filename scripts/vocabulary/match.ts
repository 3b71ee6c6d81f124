/** Looks for the words of the list in a term. */

import type { Term } from './terms.ts'
import { rows } from './words.ts'

export interface Match {
  readonly word: string
  /** What to write instead. */
  readonly use: string
}

const nameWords = wordsOf('names')
const textWords = wordsOf('texts')
const sqlNames = wordsOf('sqlNames')
const namePairs = [...nameWords.keys()].filter((word) => word.includes(' '))
const textPattern = new RegExp(`\\b(${[...textWords.keys()].join('|')})\\b`, 'gi')

/** Words of SQL itself. */
const sqlKeywords = new Set(['least', 'over'])
/** `…over` says that something is past, except behind these. */
const wordsBeforeOver = new Set(['fail', 'left', 'hand', 'hands', 'carry', 'take'])

/** The words of the list that stand in a term. */
export function findWords({ kind, value }: Term): Match[] {
  if (kind === 'text') return [...value.matchAll(textPattern)].map(([word]) => match(textWords, word.toLowerCase()))
  return kind === 'name' ? wordsOfName(value, false) : [...wordsOfSqlName(value), ...wordsOfName(value, true)]
}

/** Splits `camelCase`, `snake_case`, `kebab-case` and `CONSTANT_CASE` into words in lower case. */
export function splitName(name: string): string[] {
  return name
    .replace(/^#/, '')
    .split(/[_\-.]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase())
    .filter((word) => word !== '')
}

function wordsOfName(name: string, isSql: boolean): Match[] {
  const words = splitName(name)
  const sentence = ` ${words.join(' ')} `
  const found = words.filter((word) => nameWords.has(word) && !(isSql && sqlKeywords.has(word)))
  const pairs = namePairs.filter((pair) => sentence.includes(` ${pair} `))
  const matches = [...new Set([...found, ...pairs])].map((word) => match(nameWords, word))
  const isPast = words.at(-1) === 'over' && !wordsBeforeOver.has(words.at(-2) ?? '') && !isSql
  return isPast && pairs.length === 0 ? [...matches, { word: 'over', use: 'expired, inactive or revoked' }] : matches
}

function wordsOfSqlName(name: string): Match[] {
  const word = name.toLowerCase()
  return sqlNames.has(word) ? [match(sqlNames, word)] : []
}

const match = (words: ReadonlyMap<string, string>, word: string): Match => ({ word, use: words.get(word) ?? '' })

function wordsOf(column: 'names' | 'texts' | 'sqlNames'): Map<string, string> {
  const words = new Map<string, string>()
  for (const { use, [column]: listed = [] } of rows)
    for (const word of listed) words.set(word, words.has(word) ? `${words.get(word)}; or ${use}` : use)
  return words
}
