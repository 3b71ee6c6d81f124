/** What management needs, by what is managed. */
export const adminScopes = {
  clients: 'admin:clients',
  users: 'admin:users',
  apiKeys: 'admin:api-keys',
  signingKeys: 'admin:keys',
  audit: 'admin:audit',
} as const
