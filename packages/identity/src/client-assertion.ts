import { type Clock, tokenHash } from '@gatehouse/kit'
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'
import type { Client } from './client.ts'
import { ClientKeys } from './client-keys.ts'
import type { IdentityStore } from './store.ts'

/** How clients may sign their assertions: with a private key of their own, never with a shared secret. */
export const assertionAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA']

const longestLifeSeconds = 300
const longestAssertion = 8_192

/** Who an assertion says it is from, before anything of it is believed. */
export function clientIdOf(assertion: string): string | undefined {
  try {
    return assertion.length > longestAssertion ? undefined : decodeJwt(assertion).sub
  } catch {
    return undefined
  }
}

interface AssertionPlace {
  readonly issuer: string
  readonly store: Pick<IdentityStore, 'usedOnce'>
}

/** Checks the assertions by which clients authenticate (private_key_jwt, RFC 7523 §3 with the audience of RFC 10070). */
export class ClientAssertions {
  readonly #keys: ClientKeys
  readonly #clock: Clock

  constructor({ clock, loopback }: { readonly clock: Clock; readonly loopback: boolean }) {
    this.#clock = clock
    this.#keys = new ClientKeys({ clock, loopback })
  }

  /** Whether the assertion proves the client: signed by it, for this issuer alone, fresh, and used for the first time. */
  async proves(at: AssertionPlace, client: Client, assertion: string): Promise<boolean> {
    if (assertion.length > longestAssertion) return false
    try {
      const payload = await this.#verified(client, assertion)
      const { iss, sub, aud, exp = 0, jti } = payload
      const now = this.#clock.now() / 1000
      if (iss !== client.id || sub !== client.id || aud !== at.issuer || jti === undefined) return false
      if (exp > now + longestLifeSeconds) return false
      return await at.store.usedOnce.use('client assertion', tokenHash(`${client.id} ${jti}`), exp * 1000 + 60_000)
    } catch {
      return false
    }
  }

  async #verified(client: Client, assertion: string): Promise<JWTPayload> {
    const options = {
      algorithms: assertionAlgorithms,
      currentDate: new Date(this.#clock.now()),
      clockTolerance: 10,
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'jti'],
    }
    const { jwksUri: address } = client
    const first = address === undefined ? (client.jwks as unknown as JSONWebKeySet) : await this.#keys.at(address)
    try {
      return (await jwtVerify(assertion, createLocalJWKSet(first), options)).payload
    } catch (error) {
      if (address === undefined || (error as { code?: string }).code !== 'ERR_JWKS_NO_MATCHING_KEY') throw error
      return (await jwtVerify(assertion, createLocalJWKSet(await this.#keys.again(address)), options)).payload
    }
  }
}
