import { Problem, randomToken, StartError } from '@gatehouse/kit'
import { isCommonPassword } from './common.ts'

/**
 * The default minimum length of a password (NIST SP 800-63B-4 §3.1.1.2): 15 when it is the only factor, as here; NIST
 * allows 8 when a second factor is required.
 */
export const defaultMinPasswordLength = 15
/** The bounds of the configured minimum length. */
export const minPasswordLengthBounds: readonly [number, number] = [8, 64]

/** The maximum length: far above the 64 that must be possible, and short enough to hash. */
export const maxPasswordLength = 256

/** The characters that a password must have beside the known words about its user. */
const minOwnCharacters = 8
/** Shorter words occur in too many others. */
const minWordLength = 3
const generatedBytes = 12

/** Why a password is not acceptable. There are no composition rules (NIST SP 800-63B-4 §3.1.1.2). */
export type PasswordFault = 'short' | 'long' | 'common' | 'context'

/** What others know about the owner of a password. */
export interface PasswordOwner {
  readonly username?: string | undefined
  readonly email?: string | undefined
}

/** Decides which passwords may be set. A sign-in compares with what was set, whatever the policy is then. */
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

  /** The fault of a chosen password, or undefined. */
  findFault(password: string, owner: PasswordOwner): PasswordFault | undefined {
    if (password.length > maxPasswordLength) return 'long'
    if ([...password.normalize('NFC')].length < this.minLength) return 'short'
    if (isCommonPassword(password)) return 'common'
    return isOfKnownWords(password, [this.#product, ...wordsOf(owner)]) ? 'context' : undefined
  }

  /** @throws Problem 422 with the reason, for a password that can't be set */
  requireAcceptable(password: string, owner: PasswordOwner): void {
    const detail = this.describeFault(password, owner)
    if (detail === undefined) return
    throw new Problem(422, `The password ${detail}.`, { errors: [{ pointer: '/password', detail }] })
  }

  /** Describes the fault of a password, for callers without a page; undefined without a fault. */
  describeFault(password: string, owner: PasswordOwner): string | undefined {
    const fault = this.findFault(password, owner)
    return fault && faultDescriptions[fault](this.minLength)
  }

  /** Generates a password that can't be guessed. */
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

/** The known words: names, and the local part of an address. */
function wordsOf({ username, email }: PasswordOwner): string[] {
  return [username, email].flatMap((name) => (name === undefined ? [] : [name.split('@', 1)[0] ?? '']))
}

/** Whether little is left of a password without these words, compared without case, spaces and punctuation. */
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
