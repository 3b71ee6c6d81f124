import { randomInt } from 'node:crypto'
import { tokenHash } from '@gatehouse/kit'

/** Consonants that are hard to confuse and spell no words (RFC 8628 §6.1): 20 to the 8th is 34 bits. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

/** Generates a user code, such as `WDJB-MJHT`. */
export function makeUserCode(): string {
  const letters = Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`
}

/** Parses a typed code into its displayed form; undefined when it can't be a code. */
export function readUserCode(typed: string | undefined): string | undefined {
  const letters = (typed ?? '').toUpperCase().replaceAll(/[^A-Z]/g, '')
  if (letters.length !== length) return undefined
  return `${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`
}

/** The hash of a user code. */
export function userCodeHash(code: string): string {
  return tokenHash(`user code ${code}`)
}
