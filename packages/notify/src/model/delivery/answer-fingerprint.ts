import { createHash } from 'node:crypto'

const maxSampleLength = 500

/**
 * A provider's answer without what tells one message from another: addresses, what is quoted, ids and long numbers. Short
 * numbers stay: they are the codes of replies.
 */
export function withoutIds(answer: string): string {
  return answer
    .slice(0, 1_000)
    .replace(/[^\s<>"']+@[^\s<>"']+/g, '@')
    .replace(/"[^"]*"|<[^>]*>/g, '"…"')
    .replace(/[0-9a-f-]{8,}|\+?\d{4,}/gi, '#')
    .slice(0, maxSampleLength)
}

/** The same for answers that differ in ids alone. */
export function answerFingerprint(result: string, answer: string): string {
  return createHash('sha256')
    .update(`${result} ${withoutIds(answer).toLowerCase()}`)
    .digest('hex')
    .slice(0, 16)
}
