/** The form of texts: the length of test titles and of Markdown lines. */
import type { TestTitle } from './source.ts'

const maxTitleLength = 89
const maxMarkdownLine = 120
/** Tables and links are not wrapped, but no line is longer than this. */
const maxUnwrappedLine = 700

/** One line for each title of a test that is too long. */
export function checkTitles(path: string, titles: readonly TestTitle[]): string[] {
  return titles
    .filter(({ title }) => title.length > maxTitleLength)
    .map(
      ({ title, line }) => `${path}:${line}: test title of ${title.length} characters; use at most ${maxTitleLength}`,
    )
}

/** One line for each line of a Markdown file that is too long; tables and lines that hold one long link are wider. */
export function checkMarkdown(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const max = /^\s*\|/.test(line) || /https?:\/\/\S{60}/.test(line) ? maxUnwrappedLine : maxMarkdownLine
    return line.length > max ? [`${path}:${index + 1}: line of ${line.length} columns; wrap it at ${max}`] : []
  })
}
