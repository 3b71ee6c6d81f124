import { Problem, randomToken, StartError } from '@gatehouse/kit'
import { isCommonPassword } from './common.ts'

/**
 * The fewest characters of a password (NIST SP 800-63B-4 §3.1.1.2): 15 where it is the only factor, as it is here; 8 is the
 * least that NIST allows, where a second factor is required.
 */
export const defaultMinPasswordLength = 15
export const minPasswordLengthBounds: readonly [number, number] = [8, 64]

/** The most: far above the 64 that must be possible, and little enough to hash. */
export const maxPasswordLength = 256

/** What is left of a password without the words that anybody knows of its user must have this many characters. */
const minOwnCharacters = 8
/** Shorter words are in too many others. */
const minWordLength = 3
const generatedBytes = 12

/** Why a password can't be chosen. There are no rules of composition (NIST SP 800-63B-4 §3.1.1.2). */
export type PasswordFault = 'short' | 'long' | 'common' | 'context'

/** Whose password it is: what others know is no secret. */
export interface PasswordOwner {
  readonly username?: string | undefined
  readonly email?: string | undefined
}

/** Which passwords may be set. Signing in compares with what was set, whatever the rule is by then. */
export class PasswordPolicy {
  readonly minLength: number
  readonly #product: string

  /** @throws StartError for a length out of bounds */
  constructor({ minLength = defaultMinPasswordLength }: { readonly minLength?: number } = {}, product: string) {
    const [min, max] = minPasswordLengthBounds
    if (!Number.isInteger(minLength) || minLength < min || minLength > max) {
      throw new StartError(`passwords.min_length must be a whole number from ${min} to ${max}, not ${minLength}`)
    }
    this.minLength = minLength
    this.#product = product
  }

  /** What is wrong with a password that somebody chose; undefined when nothing is. */
  findFault(password: string, owner: PasswordOwner): PasswordFault | undefined {
    if ([...password.normalize('NFC')].length < this.minLength) return 'short'
    if (password.length > maxPasswordLength) return 'long'
    if (isCommonPassword(password)) return 'common'
    return isOfKnownWords(password, [this.#product, ...wordsOf(owner)]) ? 'context' : undefined
  }

  /** @throws Problem 422 with the reason, for a password that can't be set */
  requireAcceptable(password: string, owner: PasswordOwner): void {
    const detail = this.describeFault(password, owner)
    if (detail === undefined) return
    throw new Problem(422, `The password ${detail}.`, { errors: [{ pointer: '/password', detail }] })
  }

  /** What is wrong with a password, in words for those who read no page. */
  describeFault(password: string, owner: PasswordOwner): string | undefined {
    const fault = this.findFault(password, owner)
    return fault && faultDescriptions[fault](this.minLength)
  }

  /** A password that can't be guessed, for somebody who did not choose one. */
  generate(): string {
    return randomToken(Math.max(generatedBytes, Math.ceil((this.minLength * 3) / 4)))
  }
}

const faultDescriptions: Readonly<Record<PasswordFault, (minLength: number) => string>> = {
  short: (minLength) => `must have at least ${minLength} characters`,
  long: () => `must have at most ${maxPasswordLength} characters`,
  common: () => 'must not be a common password',
  context: () => 'must not consist of the user name, the email address or the product name',
}

/** What others know: names, and an address's part before the @. */
function wordsOf({ username, email }: PasswordOwner): string[] {
  return [username, email].flatMap((name) => (name === undefined ? [] : [name.split('@', 1)[0] ?? '']))
}

/** Whether little is left of a password without these words, compared without case, spaces and signs. */
function isOfKnownWords(password: string, words: readonly string[]): boolean {
  const text = normalize(password)
  const known = words.map(normalize).filter((word) => word.length >= minWordLength && text.includes(word))
  const byLength = known.sort((a, b) => b.length - a.length)
  const own = byLength.reduce((left, word) => left.replaceAll(word, ''), text)
  return known.length > 0 && [...own].length < minOwnCharacters
}

function normalize(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}
