/**
 * What a sign-in proved: the authentication methods (RFC 8176, the claim amr) and the class that follows from them (the
 * claim acr). Methods are stored; the class is always derived.
 */

/** The methods of each way to sign in. `email` and `fed` are ours: RFC 8176 has no names for them. */
export const methodsOf = {
  password: ['pwd'],
  /** A code or link that was mailed. */
  email: ['email'],
  /** Another identity provider, whose own methods are not known to be true. */
  federation: ['fed'],
  /** The code of an authenticator app, after one of the ways above. */
  totp: ['otp', 'mfa'],
  /** A recovery code, after one of the ways above. The name is ours. */
  recovery: ['recovery', 'mfa'],
  /** A passkey whose key stays on its device, with user verification: possession and a PIN or the body. */
  passkey: ['hwk', 'user', 'mfa'],
  /** The same with a key that can be copied to other devices. */
  syncedPasskey: ['swk', 'user', 'mfa'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** How a user signs in first; what follows is a second factor. */
export type SignInMethod = 'password' | 'passkey' | 'email' | 'federation'

/** The first method of a sign-in, by what it proved. */
export function signInMethodOf(amr: readonly string[]): SignInMethod {
  if (amr.includes('pwd')) return 'password'
  if (amr.includes('email')) return 'email'
  return amr.includes('fed') ? 'federation' : 'passkey'
}

/** One factor: the name from SAML, since OpenID Connect defines none. */
export const singleFactorAcr = 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'

/** Two factors of different kinds. */
export const multiFactorAcr = 'urn:gatehouse:acr:mfa'

/** Every class, the weakest first. `phr`: resists phishing; `phrh`: with a key that can't be copied (OpenID EAP ACR Values §2). */
export const acrValues = [singleFactorAcr, multiFactorAcr, 'phr', 'phrh'] as const

/** A class. */
export type Acr = (typeof acrValues)[number]

/** The class that methods amount to: a key with user verification (`user`) resists phishing. */
export function acrOf(amr: readonly string[]): Acr {
  if (!amr.includes('mfa')) return singleFactorAcr
  if (!amr.includes('user')) return multiFactorAcr
  if (amr.includes('hwk')) return 'phrh'
  return amr.includes('swk') ? 'phr' : multiFactorAcr
}

/** Whether a text names a class of this server. */
export function isAcr(text: unknown): text is Acr {
  return acrValues.some((acr) => acr === text)
}

/** Whether a class is as strong as another one, or stronger. */
export function meetsAcr(acr: Acr, wanted: Acr): boolean {
  return acrValues.indexOf(acr) >= acrValues.indexOf(wanted)
}
