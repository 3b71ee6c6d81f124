/** What the services need of one another when they run apart; the service client holds all of it. */
export const serviceScopes = [
  'read:users',
  'read:revocations',
  'read:api-keys',
  'write:notifications',
  'write:recipients',
  'write:audit',
] as const
