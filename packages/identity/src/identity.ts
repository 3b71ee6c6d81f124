import { type Http, startWorker, type Worker } from '@gatehouse/kit'
import { ClientDirectory } from './client-directory.ts'
import { defaultFeatures } from './features.ts'
import { unlimited } from './guards.ts'
import { type PublicJwk, SigningKeys } from './keys/signing-keys.ts'
import { lifetimesFrom } from './lifetimes.ts'
import { MacKey } from './mac-key.ts'
import type { IdentityOptions } from './options.ts'
import { brandingFrom } from './pages/branding.ts'
import { Languages } from './pages/texts.ts'
import type { Parts } from './parts.ts'
import { Passwords } from './passwords.ts'
import { routes } from './routes.ts'
import { type Seeded, seed } from './seed.ts'

/** The plan of a user for whom none is named: the specification's first tier. */
export const defaultPlan = 'free'
const keysReadEveryMs = 60_000

/** The token service, ready to be registered. */
export interface Identity {
  /** Every route, for `http.register`. */
  readonly plugin: (http: Http) => Promise<void>
  /** What the declarations made at this start, with generated secrets, this once. */
  readonly seeded: readonly Seeded[]
  /** Stop them on the way out. */
  readonly workers: readonly Worker[]
  /** The public JWK Set. */
  keys(): { readonly keys: readonly PublicJwk[] }
  /** The plan of a user or a client; undefined when there is neither. */
  planOf(subject: string): Promise<{ readonly plan: string } | undefined>
  /** Rejects when the store does not answer. */
  ready(): Promise<void>
}

/**
 * Builds the token service over a migrated store: reads or makes its keys and applies what is declared.
 * @throws StartError for a lifetime out of bounds or a declaration that can't be
 */
export async function createIdentity(options: IdentityOptions): Promise<Identity> {
  const parts = partsOf(options)
  await parts.keys.refresh()
  const seeded = await seed(parts, options)
  const keysWorker = startWorker({
    name: 'identity keys',
    log: options.log,
    idleMs: keysReadEveryMs,
    async pass() {
      const made = await parts.keys.refresh()
      if (made.length > 0) options.log.info({ algorithms: made }, 'signing keys were made')
      return false
    },
  })
  return {
    plugin: (http) => routes(http, parts, options.authenticate),
    seeded,
    workers: [keysWorker],
    keys: () => parts.keys.jwks(),
    async planOf(subject) {
      const found = await parts.store.subjects.planOf(subject)
      return found && { plan: found.plan ?? parts.defaultPlan }
    },
    ready: () => parts.store.ping(),
  }
}

function partsOf(options: IdentityOptions): Parts {
  const { store, clock, log, encryptionKey } = options
  const lifetimes = lifetimesFrom(options.lifetimes)
  const branding = brandingFrom(options.branding)
  const longestTokenMs = Math.max(lifetimes.accessToken, lifetimes.idToken, 3600) * 1000
  return {
    issuer: options.issuer,
    baseUrl: options.baseUrl,
    apiIdentifier: options.apiIdentifier ?? options.baseUrl,
    resources: new Map((options.declared?.resources ?? []).map((resource) => [resource.id, resource])),
    lifetimes,
    defaultPlan: options.defaultPlan ?? defaultPlan,
    store,
    clients: new ClientDirectory(store.clients, clock),
    keys: new SigningKeys({
      rows: store.signingKeys,
      encryptionKey,
      clock,
      ageMs: lifetimes.signingKey * 1000,
      longestTokenMs,
    }),
    passwords: new Passwords(options.passwords),
    refreshMac: new MacKey(encryptionKey, 'refresh token'),
    formMac: new MacKey(encryptionKey, 'form token'),
    encryptionKey,
    secureCookies: options.issuer.startsWith('https:'),
    branding,
    languages: new Languages(branding.textsFolder),
    features: { ...defaultFeatures, ...options.features },
    limit: options.limit ?? unlimited,
    wakeOutbox: () => {},
    clock,
    log,
  }
}
