import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

const file = new URL('common-passwords.txt.gz', import.meta.url)
/** A shorter unit that is repeated is as easily guessed as any common password. */
const minUnit = 4

let list: ReadonlySet<string> | undefined

/**
 * Whether a password is among the most common ones: as it is, without spaces and punctuation, without digits and
 * punctuation at its end, or as one of them repeated.
 */
export function isCommonPassword(password: string): boolean {
  list ??= new Set(gunzipSync(readFileSync(file)).toString().split('\n'))
  const folded = password.normalize('NFKC').toLowerCase()
  const plain = folded.replace(/[^\p{L}\p{N}]/gu, '')
  const base = folded.replace(/[^\p{L}]+$/u, '')
  const forms = [folded, plain, base].filter((text) => text !== '')
  return forms.some((text) => {
    const unit = unitOf(text)
    return list?.has(text) || (unit !== text && (unit.length < minUnit || list?.has(unit)))
  })
}

/** The shortest text whose repetition is this one. */
function unitOf(text: string): string {
  const length = (text + text).indexOf(text, 1)
  return text.slice(0, length)
}
