import type { Purposes } from '@gatehouse/kit'

/** The operations of management. */
export const managementOperations = {
  'clients.list': ['List clients', 'Ordered by id. Filters narrow the list.'],
  'clients.create': ['Register a client', "A confidential client's secret is shown only in this response."],
  'clients.get': ['Get a client', 'The secret is not shown; it is stored as a hash.'],
  'clients.update': ['Update a client', 'Omitted members stay unchanged.'],
  'clients.delete': ['Delete a client', 'Every grant of the client ends at once.'],
  'clients.getPlan': ['Get the plan of a client', "The tier that limits the client's own requests."],
  'clients.rotateSecret': [
    'Rotate the secret of a client',
    'The new secret is shown only in this response. The old one is invalid at once, or after the overlap.',
  ],
  'clients.grants.list': ['List the grants of a client', 'What users granted it and is in force; newest first.'],
  'connections.list': ['List connections', 'The other identity providers, ordered by id.'],
  'connections.create': [
    'Create a connection',
    'Another identity provider that users sign in with. Its secrets are stored sealed and never shown.',
  ],
  'connections.get': ['Get a connection', 'The secrets are not shown.'],
  'connections.update': [
    'Update, enable or disable a connection',
    'Omitted members stay unchanged. A disabled connection refuses at once, also a sign-in that began before.',
  ],
  'connections.delete': ['Delete a connection', 'With the links of users to it.'],
  'users.list': ['List users', 'Ordered by id; filtered by what says nothing about a person.'],
  'users.search': [
    'Search users',
    'As the list, and by mail address or phone number: they are in the body, so that no log has them.',
  ],
  'users.export': ['Export users', 'Every user that matches, one JSON object per line. Recorded in the audit trail.'],
  'users.create': ['Create a user', 'Without a password one is generated and shown only in this response.'],
  'users.import': [
    'Import users of another system',
    'With the hashes of their passwords. Users who exist already stay as they are. The results are in the order of the users.',
  ],
  'users.get': ['Get a user', 'An account with its roles, plan and claims.'],
  'users.update': [
    'Update, lock or unlock a user',
    'Omitted members stay unchanged. Locking ends every session and grant.',
  ],
  'users.delete': ['Delete a user', 'Every session, grant and API key of the user ends at once.'],
  'users.setPassword': ['Set the password of a user', 'Every session and grant of the user ends.'],
  'users.consents.list': [
    'List the consents of a user',
    'The clients that the user gave access, with their scopes; newest first.',
  ],
  'users.consents.withdraw': ['Withdraw a consent and its grants', 'The client needs a new consent.'],
  'users.sessions.list': [
    'List the sessions of a user',
    'The browsers in which the user is signed in, the last used first.',
  ],
  'users.sessions.end': ['End a session of a user', 'Signs the user out of one browser.'],
  'users.sessions.endAll': ['End every session of a user', 'Signs the user out of all browsers. Grants stay.'],
  'users.grants.list': [
    'List the grants of a user',
    'The access that clients have on devices, with when it was last used; newest first.',
  ],
  'users.grants.end': ['End a grant of a user', 'Its refresh token and access tokens end at once. The consent stays.'],
  'sessions.list': ['List sessions', 'The active sessions of all users, the latest first.'],
  'sessions.endSelected': [
    'End the sessions that a filter selects',
    'All but the one of the caller, and those of users whom the caller may not change. At most 1,000 at a time.',
  ],
  'users.factors.get': [
    'Get the second factors of a user',
    'What the user has enrolled, how many recovery codes are left, and how many devices are remembered.',
  ],
  'users.factors.reset': [
    'Reset the second factors of a user',
    'Removes every factor, recovery code and remembered device. The next sign-in requires a new factor. The sessions, refresh tokens, mailed links and API keys of the user end, as with a reset of the password.',
  ],
  'users.providers.list': [
    'List the linked providers of a user',
    'The accounts at other identity providers with which the user can sign in. Newest first.',
  ],
  'users.providers.remove': [
    'Remove a linked provider of a user',
    'Even the last way to sign in: the response says how many are left. Every session and grant of the user ends.',
  ],
  'users.passkeys.list': ['List the passkeys of a user', 'Newest first. Keys are not shown.'],
  'users.passkeys.remove': [
    'Remove a passkey of a user',
    'Even the last way to sign in: the user then needs a new password. Sessions stay.',
  ],
  'apiKeys.list': ['List API keys', 'Newest first. The keys themselves are not shown; they are stored as hashes.'],
  'apiKeys.identify': [
    'Find an API key by itself',
    'Whose it is: one key or none, and whether it is the present one, the one before a rotation, or invalid. It is in the body, so that no log has it, and does not count as a use.',
  ],
  'apiKeys.create': ['Create an API key', 'The key is shown only in this response.'],
  'apiKeys.get': ['Get an API key', 'The key itself is not shown.'],
  'apiKeys.rotate': [
    'Rotate an API key',
    'A new key with the same id, owner and scopes, shown only in this response. The old one is invalid at once, or after the overlap.',
  ],
  'apiKeys.delete': ['Delete an API key', 'The key is invalid at once.'],
  'apiKeys.resolve': ['Resolve an API key', 'The owner, scopes and plan of a key, for gateways in other processes.'],
  'signingKeys.list': [
    'List signing keys',
    'Newest first: the keys that sign and those that only verify, without private parts.',
  ],
  'signingKeys.rotate': [
    'Rotate the signing key',
    'The new key signs after a minute, when every verifier can know it. A compromised key is revoked at once, and its tokens are invalid.',
  ],
  'signInStats.get': [
    'Read statistics of sign-ins and tokens',
    'Sums over time of what processes counted: minutes are kept for 7 days, hours for 400. With PROMETHEUS_URL they are read there.',
  ],
  'auditEvents.list': ['List audit events', 'Sign-ins, grants and management changes, newest first by default.'],
  'auditEvents.export': ['Export audit events', 'Every event that matches the filters, one JSON object per line.'],
  'roles.list': ['List management roles', 'The management roles with the scopes that each allows.'],
  'roles.get': ['Get a management role', 'With the scopes that it has now and those that it comes with.'],
  'roles.put': [
    'Change the scopes of a management role',
    'The caller must have every scope that it had and gets. Members lose scopes at once, also in issued tokens.',
  ],
  'roles.members.list': ['List the members of a management role', 'Ordered by user id.'],
  'roles.members.get': ['Get a member of a management role', 'Not found if the user does not have the role.'],
  'roles.members.add': ['Grant a management role to a user', 'The caller must have every scope that the role allows.'],
  'roles.members.remove': ['Revoke a management role from a user', 'Takes effect at once, also for issued tokens.'],
  'caller.get': ['Get the caller', "The caller's roles and current scopes."],
  'users.sendMail': [
    'Mail a user a link',
    'With the link the user verifies the email address or chooses a new password.',
  ],
  'users.reveal': [
    'Reveal personal data of a user',
    'Returns members of a user that are otherwise masked. The reason is recorded in the audit trail.',
  ],
} as const satisfies Purposes
