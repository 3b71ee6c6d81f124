import { operationsOf } from '@gatehouse/kit'

/** What the API document says about each operation: its id, which names the call in generated clients, a summary and a description. */
export const operation = operationsOf({
  'tokens.issue': [
    'Issue tokens',
    "The token endpoint (RFC 6749 §3.2): exchanges an authorization code, a refresh token or a device code, or the client's own credentials, for tokens.",
  ],
  'tokens.revoke': [
    'Revoke a token and its grant',
    'Token revocation (RFC 7009). An unknown token is answered as a revoked one.',
  ],
  'tokens.introspect': [
    'Introspect a token',
    'Token introspection (RFC 7662). A token that is expired, revoked or meant for another audience is `{active: false}`.',
  ],
  'deviceAuthorizations.create': [
    'Start the device flow',
    'Issues a device code, and a user code that a person enters elsewhere (RFC 8628).',
  ],
  'pushedRequests.create': [
    'Push an authorization request',
    'Stores the parameters of an authorization request and answers a `request_uri` for `/authorize` (RFC 9126).',
  ],
  'userinfo.get': [
    'Read claims about the user',
    'The claims that the scopes of the access token cover (OpenID Connect Core §5.3).',
  ],
  'userinfo.post': [
    'Read claims about the user by POST',
    'As `GET /userinfo`; OpenID Connect Core §5.3.1 requires both methods.',
  ],
  'authorizePage.show': [
    'Ask a user for access',
    'The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core §3.1.2): shows the sign-in or consent page, or redirects to the client.',
  ],
  'authorizePage.submit': ['Ask a user for access by a form', 'As `GET /authorize`, with the parameters in a form.'],
  'authorizePage.resume': [
    'Resume an authorization request',
    'Continues the authorization request that waited for a sign-in.',
  ],
  'authorizePage.resumeByForm': [
    'Resume an authorization request by a form',
    'As `GET /authorize/continue`, for a request that is too large for an address.',
  ],
  'loginPage.submit': ['Sign in', "Checks the user's name and password, and resumes what asked for the sign-in."],
  'consentPage.submit': [
    'Allow or deny access',
    "The user's decision about an authorization request; redirects to the client.",
  ],
  'devicePage.show': [
    'Show the form for a user code',
    'Where a person enters the code that a device shows (RFC 8628 §3.3).',
  ],
  'devicePage.submit': ['Enter a user code', 'Shows which device asks for which access, for the user to decide.'],
  'devicePage.decide': ['Connect a device or deny it', "The user's decision about the access that a device asks for."],
  'logoutPage.show': ['Sign out', 'The logout endpoint of OpenID Connect RP-Initiated Logout.'],
  'logoutPage.submit': ['Sign out by a form', 'As `GET /end_session`, with the parameters in a form.'],
  'logoutPage.confirm': [
    'Confirm signing out',
    "The user's confirmation, where the request alone was not proof enough.",
  ],
  'accountPage.show': [
    'Show connected apps, sessions and API keys',
    'What the signed-in user allowed, and where they are signed in.',
  ],
  'accountPage.end': ["End an app's access, a session or an API key", 'Ends what the form of the account page names.'],
  'passwordPage.show': ['Show the form for a new password', 'For a signed-in user.'],
  'passwordPage.submit': ['Change the password', 'Needs the current password; other sessions end.'],
  'forgotPasswordPage.show': [
    'Show the form for a reset link',
    'Where a user who forgot the password asks for a link.',
  ],
  'forgotPasswordPage.submit': [
    'Request a reset link',
    'Mails a link when the address has an account; the answer is the same when it has none.',
  ],
  'resetPasswordPage.show': [
    'Show the form of a reset link',
    'What a mailed reset link opens; opening it changes nothing.',
  ],
  'resetPasswordPage.submit': [
    'Choose a new password by a link',
    'Uses the link up; every session of the account ends.',
  ],
  'confirmSignInPage.show': [
    'Show the page of a sign-in link',
    'What a mailed sign-in link opens; opening it changes nothing.',
  ],
  'confirmSignInPage.submit': ['Complete a sign-in by a link', 'Uses the link up; the user is signed in.'],
  'verifyEmailPage.show': [
    'Show the page of a verification link',
    'What a mailed verification link opens; opening it changes nothing.',
  ],
  'verifyEmailPage.submit': ['Verify an email address by a link', 'Uses the link up; the address counts as verified.'],
  'registrationPage.show': ['Show the registration form', 'Where a person creates an account, if registration is on.'],
  'registrationPage.submit': [
    'Register an account',
    'Mails a confirmation link; the account begins when the link is used.',
  ],
  'confirmRegistrationPage.show': [
    'Show the page of a confirmation link',
    'What a mailed confirmation link opens; opening it changes nothing.',
  ],
  'confirmRegistrationPage.submit': [
    'Confirm a registration by a link',
    'Uses the link up; the account begins with the password that is chosen here.',
  ],
  'openidConfiguration.get': [
    'Read the OpenID configuration',
    'OpenID Connect Discovery 1.0 §4: endpoints, grants, algorithms and claims.',
  ],
  'serverMetadata.get': ['Read the authorization server metadata', 'RFC 8414: endpoints, grants and algorithms.'],
  'jwks.get': ['Read the public signing keys', 'The keys that verify tokens, as a JSON Web Key Set (RFC 7517).'],
  'users.getPlan': ['Read the plan of a user', 'The user object that the tier lookup of a gateway reads.'],
  'revocations.list': [
    'List revocations after a cursor',
    'What was revoked, in order, for resource servers that verify tokens by themselves. Without a cursor: from the beginning of what is kept.',
  ],
  'auditEvents.record': [
    'Record a change of another service',
    'How services in other processes store the audit of their management changes.',
  ],
  'clients.list': ['List clients', 'In the order of their ids.'],
  'clients.create': ['Register a client', "A confidential client's secret is in this response and in no other."],
  'clients.get': ['Read a client', 'Without its secret, which is stored as a hash.'],
  'clients.update': ['Change a client', 'Members that are left out stay as they are.'],
  'clients.delete': ['Delete a client', 'Every grant of the client ends at once.'],
  'clients.getPlan': ['Read the plan of a client', "The tier that the client's own requests are counted by."],
  'clients.rotateSecret': [
    'Rotate the secret of a client',
    'The new secret is in this response and in no other; the old one is invalid at once.',
  ],
  'users.list': ['List users', 'In the order of their ids.'],
  'users.create': ['Create a user', 'Without a password one is generated: it is in this response and in no other.'],
  'users.get': ['Read a user', 'An account with its roles, plan and claims.'],
  'users.update': [
    'Change, lock or unlock a user',
    'Members that are left out stay as they are. Locking ends every session and grant.',
  ],
  'users.delete': ['Delete a user', 'Every session, grant and API key of the user ends at once.'],
  'users.setPassword': ['Set the password of a user', 'Every session and grant of the user ends.'],
  'consents.list': ['List the consents of a user', 'Which clients the user allowed which scopes.'],
  'consents.withdraw': ['Withdraw a consent and its grants', 'The client has to ask the user again.'],
  'sessions.list': ['List the sessions of a user', 'Where the user is signed in.'],
  'sessions.end': ['End a session of a user', 'Signs the user out of one browser.'],
  'apiKeys.list': ['List API keys', 'Without the keys themselves, which are stored as hashes.'],
  'apiKeys.create': ['Create an API key', 'The key is in this response and in no other.'],
  'apiKeys.delete': ['Delete an API key', 'The key is invalid at once.'],
  'apiKeys.resolve': [
    'Resolve an API key',
    'Whose key it is, with its scopes and plan; for gateways in other processes.',
  ],
  'signingKeys.list': ['List signing keys', 'Those that sign and those that only verify; no private parts.'],
  'signingKeys.rotate': [
    'Rotate the signing key',
    'A new key signs a minute later, when every verifier can know it. A compromised key is forgotten at once, and its tokens are invalid.',
  ],
  'auditEvents.list': ['List audit events', 'Sign-ins, grants and changes of management, oldest first.'],
  'auditEvents.export': ['Export audit events', 'Every event that the filters match, one JSON object per line.'],
  'roles.list': ['List management roles', 'The reserved roles with the scopes that each allows.'],
  'roleMembers.list': ['List who holds a management role', 'In the order of the ids of users.'],
  'roleMembers.get': ['Read whether a user holds a management role', 'Not found when the user does not hold it.'],
  'roleMembers.add': ['Grant a management role to a user', 'The caller must hold everything that the role allows.'],
  'roleMembers.remove': [
    'Revoke a management role from a user',
    'Takes effect at once, for tokens that were issued before too.',
  ],
  'caller.get': ['Read who calls', "The caller's roles, and the scopes that the caller holds at this moment."],
  'users.sendMail': ['Mail a user a link', 'By which the user verifies the address or chooses a new password.'],
  'users.reveal': [
    'Reveal personal data of a user',
    'Members of a user that are masked otherwise. The reason is kept in the audit trail.',
  ],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
