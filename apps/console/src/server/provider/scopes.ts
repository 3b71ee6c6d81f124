/** Everything that a management role can allow; the provider grants what the user's roles do. */
const scopes = [
  'openid offline_access',
  'admin:notifications admin:clients admin:users admin:api-keys admin:keys admin:audit admin:limits admin:roles',
  'admin:organizations admin:connections admin:privacy',
  'read:accounts read:clients read:keys read:delivery read:settings read:limits read:organizations read:audit',
  'read:personal-data reveal:personal-data write:sessions write:account-mail write:limit-grants',
].join(' ')

/** The scopes that the console's registration needs. */
export const consoleScopes: readonly string[] = scopes.split(' ')
