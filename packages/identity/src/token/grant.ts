import type { FastifyRequest } from 'fastify'
import type { Client } from '../model/client.ts'
import type { Parameters } from '../oauth/parameters.ts'
import type { TokenResponse } from './access-token.ts'

/** A token request of an authenticated client that may use the grant. */
export interface TokenRequest {
  readonly client: Client
  readonly parameters: Parameters
  readonly httpRequest: FastifyRequest
  /**
   * When it arrived, before anything of the grant was read, in Unix milliseconds. Tokens are issued as of then, so that
   * a revocation after the reading covers them.
   */
  readonly receivedAt: number
}

/** A grant type: what a client proves, and which tokens it gets. */
export interface Grant {
  /** @throws OAuthError for what is not proven */
  issue(httpRequest: TokenRequest): Promise<TokenResponse>
  /**
   * For a request past the limit: issues nothing, and revokes what a replay or reuse must revoke.
   * @throws OAuthError when the request can never succeed
   */
  rejectPermanently?(httpRequest: TokenRequest): Promise<unknown>
}
