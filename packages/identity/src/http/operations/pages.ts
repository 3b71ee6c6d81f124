import type { Purposes } from '@gatehouse/kit'

/** The operations of the pages. */
export const pageOperations = {
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
  'organizationSignInPage.submit': [
    'Sign in with the provider of an address',
    'Sends the browser to the provider of the organization whose domain the entered address has.',
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
  'logoutPage.return': [
    'Return from a logout at a provider',
    'Where a provider sends the browser after signing out there. Goes on to the client that requested the logout.',
  ],
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
} as const satisfies Purposes
