/** What a password proves: the name that SAML gave it, for want of one of OpenID Connect's own. */
export const passwordAcr = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'
