/** What management needs to change something, by what is managed. */
export const adminScopes = {
  clients: 'admin:clients',
  users: 'admin:users',
  apiKeys: 'admin:api-keys',
  signingKeys: 'admin:keys',
  audit: 'admin:audit',
  roles: 'admin:roles',
} as const

/** What it needs to read; whoever may change something may read it too. */
export const readScopes = {
  accounts: 'read:accounts',
  clients: 'read:clients',
  signingKeys: 'read:keys',
  audit: 'read:audit',
} as const
