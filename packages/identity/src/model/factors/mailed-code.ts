import { randomInt } from 'node:crypto'
import { randomToken, tokenHash } from '@gatehouse/kit'

/** How many wrong codes a challenge survives. */
export const maxCodeAttempts = 5

/** A code that is mailed, and the challenge that the page keeps, without which the code is of no use. */
export interface MailedCode {
  readonly challenge: string
  /** Six digits. */
  readonly code: string
}

/** Creates a code. */
export function createCode(): MailedCode {
  return { challenge: randomToken(), code: String(randomInt(1_000_000)).padStart(6, '0') }
}

/** What is stored of a code: it tells nothing without the challenge, of which only the hash is stored. */
export function hashCode({ challenge, code }: MailedCode): string {
  return tokenHash(`${challenge} ${code}`)
}

/** The code that a person entered, without spaces and hyphens; undefined for anything but six digits. */
export function parseCode(text: string): string | undefined {
  const code = text.replaceAll(/[ -]/g, '')
  return /^[0-9]{6}$/.test(code) ? code : undefined
}
