/** Fewest and most characters of a password (NIST SP 800-63B §3.1.1: length alone, no composition rules). */
export const shortestPassword = 8
export const longestPassword = 256

/** Whether a password may be chosen. */
export function isAllowedPassword(password: string): boolean {
  const characters = [...password].length
  return characters >= shortestPassword && password.length <= longestPassword
}
