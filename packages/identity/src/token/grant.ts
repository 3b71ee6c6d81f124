import type { FastifyRequest } from 'fastify'
import type { Client } from '../model/client.ts'
import type { Parameters } from '../oauth/parameters.ts'
import type { TokenResponse } from './access-token.ts'

/** A token request whose client is known and may use the grant. */
export interface TokenRequest {
  readonly client: Client
  readonly parameters: Parameters
  readonly httpRequest: FastifyRequest
  /**
   * When it came in, Unix milliseconds: before anything of the grant was read. Tokens are issued as of then, so that a
   * revocation that came after the reading covers them.
   */
  readonly receivedAt: number
}

/** One way to get tokens: what a client proves, and what it is given. */
export interface Grant {
  /** @throws OAuthError for what is not proven */
  issue(httpRequest: TokenRequest): Promise<TokenResponse>
  /**
   * For who asks too often: gives nothing out, and ends what a replay or a reuse must end.
   * @throws OAuthError when no later try can succeed
   */
  rejectPermanently?(httpRequest: TokenRequest): Promise<unknown>
}
