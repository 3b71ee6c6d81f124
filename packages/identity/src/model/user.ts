import { isDeepStrictEqual } from 'node:util'

/** Standard claims of OpenID Connect Core §5.1 that are kept as they are, by the scope that asks for them (§5.4). */
const claimsOfScope = {
  profile: [
    'name',
    'family_name',
    'given_name',
    'middle_name',
    'nickname',
    'preferred_username',
    'profile',
    'picture',
    'website',
    'gender',
    'birthdate',
    'zoneinfo',
    'locale',
    'updated_at',
  ],
  email: ['email', 'email_verified'],
  address: ['address'],
  phone: ['phone_number', 'phone_number_verified'],
} as const

/** Every claim about a user that can be requested. */
export const userClaims: readonly string[] = Object.values(claimsOfScope).flat()

/** The claims that the scopes cover. */
export function claimsCoveredBy(scopes: readonly string[]): ReadonlySet<string> {
  return new Set(Object.entries(claimsOfScope).flatMap(([scope, claims]) => (scopes.includes(scope) ? claims : [])))
}

/** A user with an account. Times are Unix milliseconds. */
export interface User {
  readonly id: string
  readonly username: string
  readonly plan: string | undefined
  readonly email: string | undefined
  readonly emailVerified: boolean
  readonly passwordHash: string | undefined
  readonly passwordChangedAt: number
  /**
   * Changes with the password and the factors, and when the account is locked: what was verified against an earlier one
   * is void.
   */
  readonly credentialVersion: string
  readonly roles: readonly string[]
  /** Further standard claims: names, address, phone_number … */
  readonly claims: Readonly<Record<string, unknown>>
  readonly lockedAt: number | undefined
  readonly createdAt: number
  readonly updatedAt: number
}

/** The claims of OpenID Connect about the user. */
export function claimsOf(user: User): Record<string, unknown> {
  return {
    preferred_username: user.username,
    ...user.claims,
    ...(user.email === undefined ? {} : { email: user.email, email_verified: user.emailVerified }),
    updated_at: Math.floor(user.updatedAt / 1000),
  }
}

/** Far longer than any name or address may be. */
const maxEnteredLength = 1_000

/**
 * The normal form of a username or an address: without case and surrounding spaces. Of more text than a name may have
 * only the beginning, which is too long too: its marks are put in order in time that grows with the square of their number.
 */
export function normalizeName(name: string): string {
  return name.trim().slice(0, maxEnteredLength).normalize('NFKC').toLowerCase()
}

/**
 * The username of a user whose address becomes `email`. Who registered with an address has it as the username, which
 * must not keep it from its next owner.
 */
export function usernameFor(
  { username, email: before }: Pick<User, 'username' | 'email'>,
  email: string | undefined,
): string {
  const follows = before !== undefined && username === normalizeName(before)
  return follows && email !== undefined ? normalizeName(email) : username
}

type ComparedUser = Pick<User, 'username' | 'plan' | 'email' | 'emailVerified' | 'roles' | 'claims'>

/**
 * Whether a user is still as a change expected it. That the address was verified meanwhile does not count: no change has
 * to be repeated for it.
 */
export function isUnchanged(expected: ComparedUser, user: ComparedUser): boolean {
  const compared = ({ username, plan, email, roles, claims }: ComparedUser) => ({
    username,
    plan,
    email,
    roles,
    claims,
  })
  return isDeepStrictEqual(compared(user), compared(expected)) && (user.emailVerified || !expected.emailVerified)
}
