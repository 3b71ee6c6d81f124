/** What the services need of one another when they run apart; the service client holds all of it. */
export const serviceScopes = [
  'read:users',
  'read:revocations',
  'read:api-keys',
  'write:recipients',
  'write:reserved-mails',
  'write:audit',
] as const

/**
 * What the services need of one another, and what systems read of everybody: no person holds one, and only who holds it
 * gives it away, or who administers what it reads.
 */
const internalScopes: ReadonlySet<string> = new Set([
  'read:revocations',
  'read:api-keys',
  'write:reserved-mails',
  'write:audit',
  'read:events',
])

/** Whether only the services themselves hold the scope, never a person. */
export function isServiceScope(scope: string): boolean {
  return internalScopes.has(scope)
}
