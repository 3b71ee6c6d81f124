/** Checks one file: its words, its test titles, its lines. */
import { type Exception, exceptions } from './exceptions.ts'
import { checkMarkdown, checkTitles } from './form.ts'
import { findWords } from './match.ts'
import { sourceTerms, testTitles } from './source.ts'
import { documentTerms, pathTerms, sqlTerms, type Term } from './terms.ts'

/** The problems of a file, one line each, with the word, the place and what to use instead. */
export function checkFile(path: string, text: string, allowed: readonly Exception[] = exceptions): string[] {
  return [...checkWords(path, text, allowed), ...checkForm(path, text)]
}

function checkWords(path: string, text: string, allowed: readonly Exception[]): string[] {
  const problems = [...pathTerms(path), ...readTerms(path, text)].flatMap((term) =>
    findWords(term)
      .filter(({ word }) => !isAllowed(allowed, path, term.kind === 'text' ? word : term.value))
      .map(({ word, use }) => `${place(path, term)}: "${word}"${container(term, word)}; use ${use}`),
  )
  return [...new Set(problems)]
}

function checkForm(path: string, text: string): string[] {
  if (path.endsWith('.md')) return checkMarkdown(path, text)
  return path.endsWith('.test.ts') ? checkTitles(path, testTitles(path, text)) : []
}

function readTerms(path: string, text: string): Term[] {
  if (/\.(ts|js|mjs)$/.test(path)) return sourceTerms(path, text)
  if (/\.(sql|lua)$/.test(path)) return sqlTerms(text)
  return /\.(md|json|ya?ml|html|liquid|txt)$/.test(path) ? documentTerms(text) : []
}

function isAllowed(allowed: readonly Exception[], path: string, name: string): boolean {
  return allowed.some((exception) => exception.name === name && path.startsWith(exception.below ?? ''))
}

const place = (path: string, { line }: Term): string => (line === 0 ? path : `${path}:${line}`)

function container({ kind, value, line }: Term, word: string): string {
  if (kind === 'text') return ' in a text'
  return value.toLowerCase() === word
    ? ` as ${line === 0 ? 'file ' : ''}name`
    : ` in the ${line === 0 ? 'file name' : kind} ${value}`
}
