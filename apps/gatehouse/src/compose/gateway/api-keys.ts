import type { ApiKey, ResolveApiKey } from '@gatehouse/gateway'
import { constantTimeEqual, randomToken, Secret } from '@gatehouse/kit'
import { type Config, fileKeyHash, isDevelopment, trustOf } from '../../config/config.ts'

/** The API keys of a process that has no identity of ours. */
export interface DeclaredKeys {
  readonly resolve: ResolveApiKey
  /** Made at this start where nothing else would open a door, for development alone; never stored. */
  readonly development: Secret | undefined
}

/** What the key of a development start may do: what its printed lines and the first steps after them need. */
const developmentScopes = [
  'write:notifications',
  'read:notifications',
  'admin:notifications',
  'read:personal-data',
  'admin:limits',
]

interface KnownKey extends ApiKey {
  readonly hash: string
}

/**
 * The keys that the file declares; where there are none, nobody issues tokens and only this machine reaches the process,
 * a fresh one. Undefined where identity runs here: it has keys of its own.
 */
export function declaredKeys(config: Config): DeclaredKeys | undefined {
  if (config.settings.services.has('identity')) return undefined
  const declared = (config.file.api_keys ?? []).map(
    ({ id, key_hash: hash, scopes, plan }): KnownKey => ({ id, owner: id, kind: 'client', hash, scopes, plan }),
  )
  const nobody = declared.length === 0 && trustOf(config.settings) === 'keys'
  const development =
    nobody && isDevelopment(config.settings, config.file) ? new Secret(`dev_${randomToken()}`) : undefined
  const made: KnownKey[] = development
    ? [
        {
          id: 'development',
          owner: 'development',
          kind: 'client',
          hash: fileKeyHash(development.reveal()),
          scopes: developmentScopes,
        },
      ]
    : []
  return { resolve: resolverOf([...declared, ...made]), development }
}

/** Compares a key with every one that is known, each in constant time: how long it takes says nothing of any. */
function resolverOf(known: readonly KnownKey[]): ResolveApiKey {
  return async (key) => {
    const hash = fileKeyHash(key)
    const [found] = known.filter((each) => constantTimeEqual(each.hash, hash))
    return found
  }
}
