/** The scopes with which the services call each other when they run apart; the service client has all of them. */
export const serviceScopes = [
  'read:users',
  'read:revocations',
  'read:api-keys',
  'write:recipients',
  'write:reserved-mails',
  'write:audit',
  'follow:limits',
] as const

/**
 * Scopes between services, and of systems that read about every user. No person has one; only a client that has it, or
 * the administrator of what it reads, can assign it.
 */
const internalScopes: ReadonlySet<string> = new Set([
  'read:revocations',
  'read:api-keys',
  'write:reserved-mails',
  'write:audit',
  'follow:limits',
  'read:events',
])

/** Whether the scope is for services only, never for a person. */
export function isServiceScope(scope: string): boolean {
  return internalScopes.has(scope)
}
