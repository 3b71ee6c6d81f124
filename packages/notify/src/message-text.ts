const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#34': '"',
  '#39': "'",
}

/** The plain text beside an HTML mail that has none of its own: its words, its lines, its links. */
export function textOfHtml(html: string): string {
  return html
    .replace(/<(style|script|head|title)\b[\s\S]*?<\/\1\s*>/gi, '')
    .replace(/<a\b[^>]*?\bhref\s*=\s*["']?([^"'\s>]+)["']?[^>]*>([\s\S]*?)<\/a\s*>/gi, '$2 ($1)')
    .replace(/<(br|\/p|\/div|\/h[1-6]|\/tr|\/li|\/table)\b[^>]*>/gi, '\n')
    .replace(/<li\b[^>]*>/gi, '- ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(#?\w+);/g, (whole, name: string) => entities[name.toLowerCase()] ?? whole)
    .replace(/[ \t]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

const gsm = /^[@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&'()*+,\-./0-9:;<=>?¡A-ZÄÖÑÜ§¿a-zäöñüà^{}\\[~\]|€]*$/
const gsmDouble = /[\^{}\\[~\]|€]/g

/** How many SMS segments a text takes: 160 (153 when split) GSM-7 characters each, or 70 (67) UTF-16 units. */
export function smsSegments(text: string): { readonly encoding: 'GSM-7' | 'UCS-2'; readonly segments: number } {
  const isGsm = gsm.test(text)
  const length = isGsm ? text.length + (text.match(gsmDouble)?.length ?? 0) : text.length
  const [single, split] = isGsm ? [160, 153] : [70, 67]
  return { encoding: isGsm ? 'GSM-7' : 'UCS-2', segments: length <= single ? 1 : Math.ceil(length / split) }
}
