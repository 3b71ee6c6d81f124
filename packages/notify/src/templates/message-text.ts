import { execFrom } from './exec-from.ts'
import { divideSms } from './sms-parts.ts'

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** The plain text beside an HTML mail that has none of its own: its words, its lines, its links. Takes linear time. */
export function textOfHtml(html: string): string {
  const lines = replaceTags(withLinks(withoutUnshown(html)), lineEnd, '\n')
  return replaceTags(replaceTags(lines, /<li\b[^>]*>/gi, '- '), /<[^>]*>/g, '')
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name.toLowerCase()] ?? characterOf(name) ?? whole)
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

const lineEnd = /<(br|\/p|\/div|\/h[1-6]|\/tr|\/li|\/table)\b[^>]*>/gi

/** Replaces tags. After the last `>` there is none, and no `<` there is searched for its end in vain. */
function replaceTags(html: string, tag: RegExp, words: string): string {
  const end = html.lastIndexOf('>') + 1
  return html.slice(0, end).replace(tag, words) + html.slice(end)
}

/** HTML without the elements that show nothing. One without an end tag stays, and so does each of its name after it. */
function withoutUnshown(html: string): string {
  const opening = /<(style|script|head|title)\b/gi
  const unclosed = new Set<string>()
  let shown = ''
  let at = 0
  for (let found = execFrom(opening, html, at); found; found = opening.exec(html)) {
    const name = found[1]?.toLowerCase() ?? ''
    const end = unclosed.has(name) ? null : execFrom(new RegExp(`</${name}\\s*>`, 'gi'), html, opening.lastIndex)
    if (end) {
      shown += html.slice(at, found.index)
      at = opening.lastIndex = end.index + end[0].length
    } else unclosed.add(name)
  }
  return shown + html.slice(at)
}

/** HTML in which each link is its content, and where it leads. Links after the last end tag of one stay. */
function withLinks(html: string): string {
  const opening = /<a\b/gi
  const endTag = /<\/a\s*>/gi
  let text = ''
  let at = 0
  for (let found = execFrom(opening, html, at); found; found = opening.exec(html)) {
    const contentAt = html.indexOf('>', found.index) + 1
    if (contentAt === 0) break
    const target = /\bhref\s*=\s*["']?([^"'\s>]+)/i.exec(html.slice(found.index, contentAt))?.[1]
    opening.lastIndex = contentAt
    if (target === undefined) continue
    const end = execFrom(endTag, html, contentAt)
    if (!end) break
    text += `${html.slice(at, found.index)}${html.slice(contentAt, end.index)} (${target})`
    at = opening.lastIndex = endTag.lastIndex
  }
  return text + html.slice(at)
}

/** What a numeric character reference stands for; undefined for one that stands for no character of a text. */
function characterOf(name: string): string | undefined {
  const [, hex, decimal] = /^#(?:[xX]([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? []
  const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  const isText = point >= 0x20 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff)
  return isText ? String.fromCodePoint(point) : undefined
}

/** The encoding of an SMS and how many segments it takes, as {@link divideSms} divides it. */
export function smsSegments(text: string): { readonly encoding: 'GSM-7' | 'UCS-2'; readonly segments: number } {
  const { encoding, segments } = divideSms(text)
  return { encoding, segments: segments.length }
}
