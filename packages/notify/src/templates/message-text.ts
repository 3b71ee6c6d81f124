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

const gsm = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/
const gsmDouble = /[\^{}\\[~\]|€]/

/**
 * How many SMS segments a text takes: 160 (153 when split) GSM-7 characters each, or 70 (67) UTF-16 units. What takes two
 * of them stands in one segment whole.
 */
export function smsSegments(text: string): { readonly encoding: 'GSM-7' | 'UCS-2'; readonly segments: number } {
  const isGsm = gsm.test(text)
  const [single, split] = isGsm ? [160, 153] : [70, 67]
  const sizes = Array.from(text, (character) => (isGsm ? (gsmDouble.test(character) ? 2 : 1) : character.length))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  return { encoding: isGsm ? 'GSM-7' : 'UCS-2', segments: total <= single ? 1 : splitInto(split, sizes) }
}

function splitInto(maxUnits: number, sizes: readonly number[]): number {
  let [segments, used] = [1, 0]
  for (const size of sizes) {
    if (used + size > maxUnits) [segments, used] = [segments + 1, 0]
    used += size
  }
  return segments
}
