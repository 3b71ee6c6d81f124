import type { IncomingMessage } from 'node:http'
import { type Bearer, BearerError } from '@gatehouse/bearer'
import { Problem, tokenHash } from '@gatehouse/kit'
import { countedAddress } from '../model/address.ts'
import type { RequestIdentity } from '../model/request-identity.ts'
import type { Addresses } from './addresses.ts'
import type { ApiKeys } from './api-keys.ts'
import { toCaller, toProblem } from './authenticate.ts'
import type { BadCredentialLimit } from './bad-credential-limit.ts'

/** What an {@link IdentityResolver} checks credentials with. */
export interface IdentityResolverOptions {
  readonly bearer: Bearer
  readonly apiKeys: ApiKeys
  readonly addresses: Addresses
  readonly badCredentialLimit: BadCredentialLimit
  /** Realm of `WWW-Authenticate` in refusals. */
  readonly realm: string
}

/** Resolves the identity of requests from their credentials and addresses. */
export class IdentityResolver {
  readonly #options: IdentityResolverOptions

  constructor(options: IdentityResolverOptions) {
    this.#options = options
  }

  /** Checks the request's credential. A refused one is kept in the identity, and the request counts by its address. */
  resolve(raw: IncomingMessage): Promise<RequestIdentity> {
    return this.#identify(raw, this.#options.badCredentialLimit)
  }

  /**
   * Checks the credential of an open connection again. The bad-credential limit of its address neither hides the result
   * nor counts it.
   */
  recheck(raw: IncomingMessage): Promise<RequestIdentity> {
    return this.#identify(raw, undefined)
  }

  /** The identity of a request on a route where credentials are ignored. */
  anonymous(raw: IncomingMessage): RequestIdentity {
    return { identifier: { kind: 'ip', id: countedAddress(this.#options.addresses.clientOf(raw)) } }
  }

  async #identify(raw: IncomingMessage, limit: BadCredentialLimit | undefined): Promise<RequestIdentity> {
    const { authorization, 'x-api-key': key } = raw.headers
    let isChecked = false
    const beforeCheck = () => {
      limit?.check(this.anonymous(raw).identifier)
      isChecked = true
    }
    try {
      if (authorization !== undefined && isBearer(authorization))
        return await this.#fromToken(authorization, beforeCheck)
      if (typeof key === 'string') return await this.#fromApiKey(key, beforeCheck)
      return this.anonymous(raw)
    } catch (error) {
      if (!(error instanceof BearerError || error instanceof Problem)) throw error
      const identity = this.anonymous(raw)
      if (isChecked) limit?.recordFailure(identity.identifier, error)
      return { ...identity, refusal: toProblem(error, this.#options.realm) }
    }
  }

  async #fromToken(authorization: string, beforeVerify: () => void): Promise<RequestIdentity> {
    const caller = toCaller(await this.#options.bearer.authenticate(authorization, { beforeVerify }))
    return { caller, identifier: { kind: caller.kind === 'user' ? 'user' : 'client', id: limitLength(caller.subject) } }
  }

  async #fromApiKey(key: string, beforeLookup: () => void): Promise<RequestIdentity> {
    const { caller, hash } = await this.#options.apiKeys.callerOf(key, beforeLookup)
    return { caller, identifier: { kind: 'key', id: hash } }
  }
}

const maxSubjectLength = 255

const isBearer = (authorization: string) => /^bearer(?:\s|$)/i.test(authorization)

/** Counter keys hold the subject itself, or its hash where it is too long for one. */
function limitLength(subject: string): string {
  return subject.length <= maxSubjectLength && subject.isWellFormed() ? subject : `sha256:${tokenHash(subject)}`
}
