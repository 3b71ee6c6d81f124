/** The scopes that changes require, by what is changed. */
export const adminScopes = {
  clients: 'admin:clients',
  users: 'admin:users',
  apiKeys: 'admin:api-keys',
  signingKeys: 'admin:keys',
  audit: 'admin:audit',
  roles: 'admin:roles',
  organizations: 'admin:organizations',
  connections: 'admin:connections',
  limits: 'admin:limits',
} as const

/** The scopes that reads require; the scope for changes includes them. */
export const readScopes = {
  accounts: 'read:accounts',
  clients: 'read:clients',
  signingKeys: 'read:keys',
  audit: 'read:audit',
  organizations: 'read:organizations',
  limits: 'read:limits',
} as const
