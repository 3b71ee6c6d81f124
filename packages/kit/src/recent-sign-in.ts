import { Problem } from './problem.ts'

/** How old the sign-in of a person may be for what is dangerous, in seconds. */
const maxSignInAge = 600

/**
 * Refuses a person whose sign-in is too old for what is dangerous: what cannot be undone, lets somebody in, reaches many
 * or hands data out.
 * @param authTime when the person signed in, Unix milliseconds; undefined where nobody knows, as with an API key
 * @param now Unix milliseconds
 * @throws Problem 401 `insufficient_user_authentication` (RFC 9470 §3)
 */
export function requireRecentSignIn(authTime: number | undefined, now: number): void {
  if ((authTime ?? 0) + maxSignInAge * 1_000 > now) return
  const challenge = `Bearer error="insufficient_user_authentication", max_age="${maxSignInAge}"`
  throw new Problem(401, `This requires a sign-in within the last ${maxSignInAge / 60} minutes.`, {
    headers: { 'www-authenticate': challenge },
  })
}
