import { type Clock, Problem, tokenHash } from '@gatehouse/kit'
import type { Caller } from '../model/caller.ts'

/** An API key as identity knows it. */
export interface ApiKey {
  readonly id: string
  /** The subject it acts for. */
  readonly owner: string
  /** The kind of its owner. */
  readonly kind: Caller['kind']
  readonly scopes: readonly string[]
  readonly plan?: string | undefined
}

/** Looks up an API key; undefined for an unknown one. */
export type ResolveApiKey = (key: string) => Promise<ApiKey | undefined>

/** How long a key is cached, in milliseconds. A revoked key works this much longer. */
const keyFreshMs = 5_000
const maxKeys = 10_000
const maxKeyLength = 200

/** API keys as callers. */
export interface ApiKeys {
  /**
   * The caller of a key, and the hash that it counts by.
   * @param beforeLookup called before an uncached key is looked up; what it throws refuses the key
   * @throws Problem 401 when the key is unknown, 503 when it cannot be looked up
   */
  callerOf(key: string, beforeLookup?: () => void): Promise<{ readonly caller: Caller; readonly hash: string }>
}

/** API keys as callers. Each is looked up at most once in 5 s. */
export function createApiKeys(resolve: ResolveApiKey | undefined, clock: Clock, realm: string): ApiKeys {
  const known = new Map<string, { readonly caller: Caller; readonly until: number }>()
  const unknown = () =>
    new Problem(401, 'The API key is not known.', {
      headers: {
        'www-authenticate': `Bearer realm="${realm}", error="invalid_token", error_description="The API key is not known"`,
      },
    })
  return {
    async callerOf(key, beforeLookup) {
      if (resolve === undefined || key.length > maxKeyLength) throw unknown()
      const hash = tokenHash(key)
      const now = clock.now()
      const cached = known.get(hash)
      // More than that is left only when the clock was set back.
      if (cached && now < cached.until && cached.until - now <= keyFreshMs) return { caller: cached.caller, hash }
      beforeLookup?.()
      const found = await resolve(key).catch((cause: unknown) => {
        throw new Problem(503, 'API keys cannot be looked up at the moment.', { cause })
      })
      known.delete(hash)
      if (found === undefined) throw unknown()
      if (known.size >= maxKeys) known.delete(known.keys().next().value ?? '')
      const caller: Caller = Object.freeze({
        subject: found.owner,
        kind: found.kind,
        keyId: found.id,
        scopes: new Set(found.scopes),
        roles: [],
        ...(found.plan === undefined ? {} : { plan: found.plan }),
      })
      known.set(hash, { caller, until: now + keyFreshMs })
      return { caller, hash }
    },
  }
}
