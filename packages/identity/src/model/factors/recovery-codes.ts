import { randomBytes } from 'node:crypto'
import { encodeBase32 } from './totp.ts'

/** How many recovery codes a user gets at once. */
const recoveryCodeCount = 10

/** With this many or fewer left, the user is advised to make new ones. */
export const fewRecoveryCodes = 3

/** 80 bits: a hash without salt is enough to store it (NIST SP 800-63B-4 §3.1.2.2). */
const codeBytes = 10

/** Makes new recovery codes, each in groups of four for people. */
export function createRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodeCount }, () => {
    const code = encodeBase32(randomBytes(codeBytes)).toLowerCase()
    return (code.match(/.{4}/g) ?? []).join('-')
  })
}

/** The recovery code in what a person typed: without case, spaces and hyphens. */
export function readRecoveryCode(typed: string | undefined): string | undefined {
  const code = (typed ?? '').replaceAll(/[ -]/g, '').toLowerCase()
  return /^[a-z2-7]{16}$/.test(code) ? code : undefined
}
