import { operationsOf } from '@gatehouse/kit'

/**
 * The operations in the API document: the id, which names the call in generated clients, a summary and a description.
 */
export const operation = operationsOf({
  'tokens.issue': [
    'Issue tokens',
    "The token endpoint (RFC 6749 §3.2): exchanges an authorization code, a refresh token or a device code, or the client's own credentials, for tokens.",
  ],
  'tokens.revoke': [
    'Revoke a token and its grant',
    'Token revocation (RFC 7009). The response is the same for an unknown token.',
  ],
  'tokens.introspect': [
    'Introspect a token',
    'Token introspection (RFC 7662). The response is `{active: false}` for a token that is expired, revoked or meant for another audience.',
  ],
  'deviceAuthorizations.create': [
    'Request device authorization',
    'Issues a device code and a user code, which the user enters in a browser (RFC 8628).',
  ],
  'pushedRequests.create': [
    'Push an authorization request',
    'Stores the parameters of an authorization request and returns a `request_uri` for `/authorize` (RFC 9126).',
  ],
  'userinfo.get': [
    'Get claims about the user',
    'The claims that the scopes of the access token cover (OpenID Connect Core §5.3).',
  ],
  'userinfo.post': [
    'Get claims about the user by POST',
    'As `GET /userinfo`; OpenID Connect Core §5.3.1 requires both methods.',
  ],
  'authorizePage.show': [
    'Start an authorization request',
    'The authorization endpoint (RFC 6749 §3.1, OpenID Connect Core §3.1.2): shows the sign-in or consent page, or redirects to the client.',
  ],
  'authorizePage.submit': [
    'Start an authorization request by a form',
    'As `GET /authorize`, with the parameters in a form.',
  ],
  'authorizePage.resume': [
    'Resume an authorization request',
    'Continues an authorization request after the user signed in.',
  ],
  'authorizePage.resumeByForm': [
    'Resume an authorization request by a form',
    'As `GET /authorize/continue`, for a request that is too large for a URL.',
  ],
  'loginPage.submit': [
    'Sign in',
    "Checks the user's name and password, and resumes the request that required the sign-in.",
  ],
  'factorPage.submit': [
    'Complete a sign-in with a second factor',
    "Checks the code of the user's authenticator app, or a recovery code, and resumes the request.",
  ],
  'enrolPage.submit': [
    'Complete a sign-in with a first factor',
    'Sets up the authenticator app that the sign-in requires, and shows the recovery codes.',
  ],
  'providerPage.submit': [
    'Sign in with another identity provider',
    'Sends the browser to the provider that the user chose on the sign-in page.',
  ],
  'providerPage.return': [
    'Return from another identity provider',
    'The redirect URI of a connection: takes the response of its provider and signs the user in.',
  ],
  'providerPage.returnByForm': [
    'Return from another identity provider by a form',
    'As by GET, for a provider that posts its response (OAuth 2.0 Form Post Response Mode).',
  ],
  'accountProvidersPage.show': [
    'Show connected providers',
    'The accounts at other identity providers with which the signed-in user can sign in.',
  ],
  'accountProvidersPage.submit': [
    'Connect or disconnect a provider',
    'Requires a recent sign-in. The last way to sign in stays.',
  ],
  'emailCodePage.request': [
    'Request a sign-in code',
    'Asks for the email address and mails a code, if the address has an account. The response is the same if it has none.',
  ],
  'emailCodePage.submit': [
    'Complete a sign-in with a code',
    'Checks the code that was mailed, in the browser that requested it, and signs the user in.',
  ],
  'consentPage.submit': [
    'Allow or deny access',
    "Records the user's decision about an authorization request and redirects to the client.",
  ],
  'organizationPage.submit': [
    'Choose an organization',
    'Continues an authorization request for the organization that the user chose.',
  ],
  'devicePage.show': [
    'Show the form for a user code',
    'The page where the user enters the code that a device shows (RFC 8628 §3.3).',
  ],
  'devicePage.submit': ['Enter a user code', 'Shows which device requests which access, for the user to decide.'],
  'devicePage.decide': [
    'Connect or deny a device',
    "Records the user's decision about the access that a device requested.",
  ],
  'logoutPage.show': ['Sign out', 'The logout endpoint of OpenID Connect RP-Initiated Logout.'],
  'logoutPage.submit': ['Sign out by a form', 'As `GET /end_session`, with the parameters in a form.'],
  'logoutPage.confirm': [
    'Confirm signing out',
    'Ends the session after the user confirmed it, for a request without a valid `id_token_hint`.',
  ],
  'accountPage.show': ['Show connected apps, sessions and API keys', 'The account page of the signed-in user.'],
  'accountPage.end': [
    "End an app's access, a session or an API key",
    'Ends the app access, session or API key that the form of the account page names.',
  ],
  'factorsPage.show': [
    'Show second factors and remembered devices',
    'The authenticator app, the recovery codes and the remembered devices of the signed-in user.',
  ],
  'factorsPage.submit': [
    'Change second factors',
    'Removes the authenticator app, makes new recovery codes, or forgets remembered devices.',
  ],
  'appPage.show': ['Show the form for an authenticator app', 'Shows a QR code with a new secret.'],
  'appPage.submit': ['Set up an authenticator app', 'Requires a code of the app. It replaces the app before.'],
  'passkeySignIn.start': [
    'Get the options for signing in with a passkey',
    'For the script of the login page: a challenge that one response from this browser may answer.',
  ],
  'passkeySignIn.submit': [
    'Sign in with a passkey',
    'Verifies the response of the authenticator and resumes the request that required the sign-in.',
  ],
  'passkeysPage.show': ['Show the passkeys of the user', 'The page where a signed-in user manages passkeys.'],
  'newPasskeyPage.show': ['Show the form for a new passkey', 'Requires a recent sign-in.'],
  'newPasskeyPage.submit': ['Add a passkey', 'Verifies the response of the authenticator. Requires a recent sign-in.'],
  'editPasskeyPage.show': ['Show the form for a passkey', 'Requires a recent sign-in.'],
  'editPasskeyPage.submit': [
    'Rename or remove a passkey',
    'Requires a recent sign-in. The last way to sign in is not removed.',
  ],
  'removePasswordPage.submit': [
    'Remove the password',
    'For users with a passkey. Requires a recent sign-in. All other sessions end.',
  ],
  'accountPage.signOut': [
    'Sign out everywhere',
    'Ends every session and the access of every app, with or without the session of this browser.',
  ],
  'accountPage.download': [
    'Download the data of the account',
    'Everything that is kept about the user, as JSON. Requires a recent sign-in.',
  ],
  'profilePage.show': ['Show the form for name and phone number', 'Requires a recent sign-in.'],
  'profilePage.submit': ['Change name and phone number', 'Requires a recent sign-in.'],
  'emailPage.show': ['Show the form for a new email address', 'Requires a recent sign-in.'],
  'emailPage.submit': ['Request a new email address', 'Mails a code to the new address. Requires a recent sign-in.'],
  'emailPage.confirm': [
    'Confirm a new email address',
    'Changes the address, given the code that was mailed there. The old and the new address are notified.',
  ],
  'deletionPage.show': ['Show the form that deletes the account', 'Requires a recent sign-in.'],
  'deletionPage.submit': ['Delete the account', 'Every session, grant and API key of the user ends at once.'],
  'passwordPage.show': ['Show the form for a new password', 'The page where a signed-in user changes the password.'],
  'passwordPage.submit': ['Change the password', 'Requires the current password. All other sessions end.'],
  'forgotPasswordPage.show': [
    'Show the form for a reset link',
    'The page where a user requests a link to choose a new password.',
  ],
  'forgotPasswordPage.submit': [
    'Request a reset link',
    'Mails a link if the address has an account. The response is the same if it has none.',
  ],
  'resetPasswordPage.show': [
    'Show the page of a reset link',
    'The page that a mailed reset link opens. Opening it does not use the link.',
  ],
  'resetPasswordPage.submit': ['Reset the password with a link', 'Uses the link. Every session of the account ends.'],
  'confirmSignInPage.show': [
    'Show the page of a sign-in link',
    'The page that a mailed sign-in link opens. Opening it does not use the link.',
  ],
  'confirmSignInPage.submit': ['Complete a sign-in with a link', 'Uses the link and signs the user in.'],
  'verifyEmailPage.show': [
    'Show the page of a verification link',
    'The page that a mailed verification link opens. Opening it does not use the link.',
  ],
  'verifyEmailPage.submit': ['Verify an email address with a link', 'Uses the link and marks the address as verified.'],
  'membershipsPage.show': ['Show your organizations', 'The organizations of the signed-in user.'],
  'membershipsPage.submit': ['Leave an organization', 'The tokens of the user for the organization end at once.'],
  'invitationPage.show': [
    'Show the page of an invitation',
    'The page that a mailed invitation opens, for a user with the invited address. Opening it does not use the link.',
  ],
  'invitationPage.submit': ['Accept an invitation', 'Uses the link and makes the user a member of the organization.'],
  'registrationPage.show': [
    'Show the registration form',
    'The page where a person creates an account, if registration is enabled.',
  ],
  'registrationPage.submit': [
    'Register an account',
    'Mails a confirmation link. The account is created when the link is used.',
  ],
  'confirmRegistrationPage.show': [
    'Show the page of a confirmation link',
    'The page that a mailed confirmation link opens. Opening it does not use the link.',
  ],
  'confirmRegistrationPage.submit': [
    'Confirm a registration with a link',
    'Uses the link and creates the account with the chosen name and password.',
  ],
  'openidConfiguration.get': [
    'Get the OpenID configuration',
    'OpenID Connect Discovery 1.0 §4: endpoints, grants, algorithms and claims.',
  ],
  'serverMetadata.get': ['Get the authorization server metadata', 'RFC 8414: endpoints, grants and algorithms.'],
  'jwks.get': ['Get the public signing keys', 'The keys that verify tokens, as a JSON Web Key Set (RFC 7517).'],
  'users.getPlan': ['Get the plan of a user', 'The user object for the tier lookup of a gateway.'],
  'revocations.list': [
    'List revocations after a cursor',
    'The revocations in order, for resource servers that verify tokens themselves. Without a cursor, from the oldest that is kept.',
  ],
  'auditEvents.record': [
    'Record a change of another service',
    'For services in other processes, which record their management changes here.',
  ],
  'clients.list': ['List clients', 'Ordered by id.'],
  'clients.create': ['Register a client', "A confidential client's secret is shown only in this response."],
  'clients.get': ['Get a client', 'The secret is not shown; it is stored as a hash.'],
  'clients.update': ['Update a client', 'Omitted members stay unchanged.'],
  'clients.delete': ['Delete a client', 'Every grant of the client ends at once.'],
  'clients.getPlan': ['Get the plan of a client', "The tier that limits the client's own requests."],
  'clients.rotateSecret': [
    'Rotate the secret of a client',
    'The new secret is shown only in this response. The old one is invalid at once.',
  ],
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
  'users.list': ['List users', 'Ordered by id.'],
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
  'consents.list': ['List the consents of a user', 'The clients that the user gave access, with their scopes.'],
  'consents.withdraw': ['Withdraw a consent and its grants', 'The client needs a new consent.'],
  'sessions.list': ['List the sessions of a user', 'The browsers in which the user is signed in.'],
  'sessions.end': ['End a session of a user', 'Signs the user out of one browser.'],
  'factors.get': [
    'Get the second factors of a user',
    'What the user has enrolled, how many recovery codes are left, and how many devices are remembered.',
  ],
  'factors.reset': [
    'Reset the second factors of a user',
    'Removes every factor, recovery code and remembered device, and ends the sessions. The next sign-in requires a new factor.',
  ],
  'passkeys.list': ['List the passkeys of a user', 'Ordered by the time of creation. Keys are not shown.'],
  'passkeys.remove': [
    'Remove a passkey of a user',
    'Even the last way to sign in: the user then needs a new password. Sessions stay.',
  ],
  'apiKeys.list': ['List API keys', 'The keys themselves are not shown; they are stored as hashes.'],
  'apiKeys.create': ['Create an API key', 'The key is shown only in this response.'],
  'apiKeys.delete': ['Delete an API key', 'The key is invalid at once.'],
  'apiKeys.resolve': ['Resolve an API key', 'The owner, scopes and plan of a key, for gateways in other processes.'],
  'signingKeys.list': ['List signing keys', 'The keys that sign and those that only verify, without private parts.'],
  'signingKeys.rotate': [
    'Rotate the signing key',
    'The new key signs after a minute, when every verifier can know it. A compromised key is revoked at once, and its tokens are invalid.',
  ],
  'auditEvents.list': ['List audit events', 'Sign-ins, grants and management changes, oldest first by default.'],
  'auditEvents.export': ['Export audit events', 'Every event that matches the filters, one JSON object per line.'],
  'roles.list': ['List management roles', 'The management roles with the scopes that each allows.'],
  'roleMembers.list': ['List the members of a management role', 'Ordered by user id.'],
  'roleMembers.get': ['Get a member of a management role', 'Not found if the user does not have the role.'],
  'roleMembers.add': ['Grant a management role to a user', 'The caller must have every scope that the role allows.'],
  'roleMembers.remove': ['Revoke a management role from a user', 'Takes effect at once, also for issued tokens.'],
  'caller.get': ['Get the caller', "The caller's roles and current scopes."],
  'organizations.list': ['List organizations', 'Ordered by id.'],
  'organizations.create': ['Create an organization', 'Without members; add the first one, with the role owner.'],
  'organizations.get': ['Get an organization', 'Its name, its status and whether its members need a second factor.'],
  'organizations.update': [
    'Update, suspend or resume an organization',
    'Omitted members stay unchanged. Suspending ends every grant in it.',
  ],
  'organizations.delete': [
    'Delete an organization',
    'With its roles, members and invitations. Every grant in it ends.',
  ],
  'memberships.list': ['List the organizations of a user', 'The active ones, with the roles of the user in each.'],
  'organizationTemplates.list': ['List the role templates', 'The roles that every organization has.'],
  'organizationTemplates.put': [
    'Create or replace a role template',
    'The change reaches all organizations: members have the new permissions from their next tokens on.',
  ],
  'organizationTemplates.delete': ['Delete a role template', 'Members of all organizations lose the role.'],
  'organizationMembers.list': ['List the members of an organization', 'Ordered by user id.'],
  'organizationMembers.put': [
    'Add a member to an organization, or replace the roles',
    'Without effect if the member has exactly these roles. The last owner stays one.',
  ],
  'organizationMembers.remove': [
    'Remove a member from an organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'organizationRoles.list': ['List the roles of an organization', 'The templates and its own, with their permissions.'],
  'organizationRoles.put': ['Create or replace a role of an organization', 'Its key must not be that of a template.'],
  'organizationRoles.delete': ['Delete a role of an organization', 'Members and invitations lose the role at once.'],
  'organizationInvitations.list': [
    'List the invitations of an organization',
    'Those that wait, ordered by id. Their links are in the mails only.',
  ],
  'organizationInvitations.create': [
    'Invite a person to an organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'organizationInvitations.revoke': [
    'Revoke an invitation to an organization',
    'The link in the mail becomes invalid.',
  ],
  'organizationDomains.list': ['List the domains of an organization', 'Each with the DNS record that proves it.'],
  'organizationDomains.add': [
    'Add a domain to an organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'organizationDomains.verify': ['Verify a domain of an organization', 'Looks for the DNS record.'],
  'organizationDomains.remove': ['Remove a domain from an organization', 'Another organization can verify it then.'],
  'ownOrganization.get': ['Get your organization', 'The organization that the token is for.'],
  'ownOrganization.update': ['Update your organization', 'Omitted members stay unchanged.'],
  'ownMembers.list': ['List the members of your organization', 'Ordered by user id.'],
  'ownMembers.put': [
    'Replace the roles of a member of your organization',
    'Requires every permission of the roles that change. The last owner stays one.',
  ],
  'ownMembers.remove': [
    'Remove a member from your organization',
    'The tokens of the member for the organization end at once. The last owner stays.',
  ],
  'ownRoles.list': ['List the roles of your organization', 'The templates and its own, with their permissions.'],
  'ownRoles.put': [
    'Create or replace a role of your organization',
    'Requires every permission that it has or gets. Its key must not be that of a template.',
  ],
  'ownRoles.delete': ['Delete a role of your organization', 'Members and invitations lose the role at once.'],
  'ownInvitations.list': [
    'List the invitations of your organization',
    'Those that wait, ordered by id. Their links are in the mails only.',
  ],
  'ownInvitations.create': [
    'Invite a person to your organization',
    'Mails a link, which works for a user who verified the address. The response is the same without an account.',
  ],
  'ownInvitations.revoke': ['Revoke an invitation to your organization', 'The link in the mail becomes invalid.'],
  'ownDomains.list': ['List the domains of your organization', 'Each with the DNS record that proves it.'],
  'ownDomains.add': [
    'Add a domain to your organization',
    'The response has the DNS record to publish. A domain that is there stays as it is.',
  ],
  'ownDomains.verify': ['Verify a domain of your organization', 'Looks for the DNS record.'],
  'ownDomains.remove': ['Remove a domain from your organization', 'Another organization can verify it then.'],
  'users.sendMail': [
    'Mail a user a link',
    'With the link the user verifies the email address or chooses a new password.',
  ],
  'users.reveal': [
    'Reveal personal data of a user',
    'Returns members of a user that are otherwise masked. The reason is recorded in the audit trail.',
  ],
})

/** The ids of this package's operations. */
export type OperationId = Parameters<typeof operation>[0]
