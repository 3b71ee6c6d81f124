import { divideSms } from './sms-parts.ts'

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

/** The plain text beside an HTML mail that has none of its own: its words, its lines, its links. */
export function textOfHtml(html: string): string {
  return html
    .replace(/<(style|script|head|title)\b[\s\S]*?<\/\1\s*>/gi, '')
    .replace(/<a\b[^>]*?\bhref\s*=\s*["']?([^"'\s>]+)["']?[^>]*>([\s\S]*?)<\/a\s*>/gi, '$2 ($1)')
    .replace(/<(br|\/p|\/div|\/h[1-6]|\/tr|\/li|\/table)\b[^>]*>/gi, '\n')
    .replace(/<li\b[^>]*>/gi, '- ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name.toLowerCase()] ?? characterOf(name) ?? whole)
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
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
