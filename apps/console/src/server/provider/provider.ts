import type { ConsoleOptions } from '../options.ts'
import type { SessionTokens } from '../session/session.ts'
import type { ProviderLogout } from '../session/store.ts'

/** What a sign-in has to remember between the two redirects. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
  /** The maximum age of the sign-in, in seconds; undefined for any. */
  readonly maxAge: number | undefined
}

/** The result of a sign-in. */
export interface SignedIn {
  readonly tokens: SessionTokens
  readonly userId: string
  readonly providerSessionId: string
}

/** The OpenID provider, which is the identity service. Every call ends within five seconds. */
export interface Provider {
  /** Pushes an authorization request (RFC 9126) and returns where the browser signs in. */
  authorizationUrl(secrets: SignInSecrets): Promise<string>
  /** Exchanges the code of a callback. @throws an error for a response that is not the one to these secrets */
  exchange(callback: URLSearchParams, secrets: SignInSecrets): Promise<SignedIn>
  /** The next tokens; undefined when the grant has ended. @throws an error when the provider cannot be reached */
  refresh(refreshToken: string): Promise<SessionTokens | undefined>
  /** Revokes a refresh token and its grant. */
  revoke(refreshToken: string): Promise<void>
  /**
   * Reads a logout token (OpenID Connect Back-Channel Logout §2.6); undefined for any other token.
   * @throws an error when the provider's keys cannot be fetched
   */
  readLogoutToken(token: string): Promise<ProviderLogout | undefined>
  /** Where a browser signs out of the provider as well. */
  readonly endSessionUrl: string
}

/** What a {@link Provider} is created from. */
export type ProviderOptions = Pick<ConsoleOptions, 'issuer' | 'client' | 'services' | 'publicUrl' | 'clock'>
