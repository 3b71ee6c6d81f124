/** What may be an address in a plain text: up to a space, a quote, a bracket of HTML, or a character that is not seen. */
const candidates = /\bhttps?:\/\/[^\s<>"\p{Cc}\p{Cf}]+/giu

/**
 * Replaces each http(s) address of a plain text by what `replacement` answers for it; undefined leaves it as it is, and
 * so does what is no address, names a password, or is too long to be kept. Nothing else of the text changes.
 */
export function replaceLinks(text: string, replacement: (target: string) => string | undefined): string {
  return text.replace(candidates, (found) => {
    const address = withoutPunctuation(found)
    const url = URL.parse(address)
    const written = url && isKept(url) ? replacement(url.href) : undefined
    return written === undefined ? found : written + found.slice(address.length)
  })
}

const maxTargetLength = 2_000

function isKept({ username, password, href }: URL): boolean {
  return username === '' && password === '' && href.length <= maxTargetLength
}

const closing: Readonly<Record<string, string>> = {
  ')': '(',
  ']': '[',
  '}': '{',
  '）': '（',
  '】': '【',
  '」': '「',
  '』': '『',
}
const trailing = new Set(".,;:!?'`*~…。、，；：！？»”’›|")

/** An address without the punctuation of the sentence around it. A closing bracket belongs to it where it was opened in it. */
function withoutPunctuation(found: string): string {
  const counts = new Map<string, number>()
  for (const character of found) counts.set(character, (counts.get(character) ?? 0) + 1)
  let end = found.length
  for (; end > 0; end--) {
    const last = found[end - 1] ?? ''
    const opening = closing[last]
    const isUnopened = opening !== undefined && (counts.get(last) ?? 0) > (counts.get(opening) ?? 0)
    if (!trailing.has(last) && !isUnopened) break
    counts.set(last, (counts.get(last) ?? 0) - 1)
  }
  return found.slice(0, end)
}
