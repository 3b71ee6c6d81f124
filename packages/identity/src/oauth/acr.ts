/** The authentication context class of a password: the name from SAML, since OpenID Connect defines none. */
export const passwordAcr = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'
