import { type Http, KeyRing, type RecordChange, type Worker } from '@gatehouse/kit'
import { brandingFrom, Languages } from '@gatehouse/kit/page'
import { type Management, managementOf } from './admin/commands.ts'
import { type ResolvedApiKey, resolveApiKey } from './admin/keys/api-keys.ts'
import { changeRecorder } from './audit/record.ts'
import { startWorkers } from './background/workers.ts'
import { ClientAssertions } from './clients/assertion.ts'
import { ClientDirectory } from './clients/cache.ts'
import { RefusalBudget } from './clients/failure-budget.ts'
import { ClientProofs } from './clients/recent-authentications.ts'
import { unlimited } from './config/attempt-limits.ts'
import { featuresFrom } from './config/features.ts'
import { lifetimesFrom } from './config/lifetimes.ts'
import type { IdentityOptions } from './config/options.ts'
import { type Seeded, seed } from './config/seed.ts'
import type { Parts } from './context/context.ts'
import { createIdentityMetrics } from './context/metrics.ts'
import { type Introspected, introspect } from './introspect/endpoint.ts'
import { MacKey } from './keys/mac-key.ts'
import { type PublicJwk, SigningKeys } from './keys/signing-keys.ts'
import type { SigningAlgorithm } from './model/client.ts'
import { Passwords } from './passwords/hasher.ts'
import { PasswordRule } from './passwords/rule.ts'
import { type RevocationPage, revocationFeed } from './revoke/feed.ts'
import { routes } from './routes.ts'

/** The plan of a user for whom none is named: the specification's first tier. */
export const defaultPlan = 'free'

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
  /** Whether a signing key was compromised: what it signed is refused, whoever still has its public part. */
  isForgottenKey(kid: string): boolean
  /** The plan of a user or a client; undefined when there is neither. */
  planOf(subject: string): Promise<{ readonly plan: string } | undefined>
  /** Whose an API key is and what it may; undefined for one that is unknown, over or removed. */
  resolveApiKey(key: string): Promise<ResolvedApiKey | undefined>
  /** What is to be known of an access token (RFC 7662), for checks in this process. */
  introspect(token: string): Promise<Introspected>
  /** What was revoked after the cursor. */
  revocations(after: string | undefined): Promise<RevocationPage>
  /** Stores a change that another service of this process is about to make in the audit trail. */
  readonly recordChange: RecordChange
  /** What the command line does. */
  readonly management: Management
  /** Rejects when the store does not answer. */
  ready(): Promise<void>
}

/**
 * Builds the token service over a migrated store: reads or makes its keys and applies what is declared.
 * @throws StartError for a lifetime out of bounds or a declaration that can't be
 */
export async function createIdentity(options: IdentityOptions): Promise<Identity> {
  const outbox: Worker[] = []
  const parts = partsOf(options, () => {
    for (const lane of outbox) lane.wake()
  })
  await parts.keys.refresh()
  const seeded = await seed(parts, options)
  const workers = options.background === false ? undefined : startWorkers(parts, options)
  if (workers) outbox.push(workers.mails, workers.logouts)
  return {
    plugin: (http) => routes(http, parts, options.authenticate),
    seeded,
    workers: Object.values(workers ?? {}),
    keys: () => parts.keys.jwks(),
    isForgottenKey: (kid) => parts.keys.isForgotten(kid),
    async planOf(subject) {
      const found = await parts.store.subjects.planOf(subject)
      return found && { plan: found.plan ?? parts.defaultPlan }
    },
    resolveApiKey: (key) => resolveApiKey(parts, key),
    introspect: (token) => introspect(parts, token),
    revocations: (after) => revocationFeed(parts, after),
    recordChange: changeRecorder(parts),
    management: managementOf(parts),
    ready: () => parts.store.ping(),
  }
}

function partsOf(options: IdentityOptions, wakeOutbox: () => void): Parts {
  const { store, clock, log } = options
  const encryptionKey = KeyRing.of(options.encryptionKey)
  const lifetimes = lifetimesFrom(options.lifetimes)
  const branding = brandingFrom(options.branding)
  const mail = options.notify !== undefined
  const features = featuresFrom(options.features, mail)
  const longestTokenMs = Math.max(lifetimes.accessToken, lifetimes.idToken, 3600) * 1000
  const passwords = new Passwords(options.passwords)
  const keys = new SigningKeys({
    rows: store.signingKeys,
    encryptionKey,
    clock,
    log,
    algorithms: algorithmsOf(options),
    ageMs: lifetimes.signingKey * 1000,
    longestTokenMs,
  })
  return {
    issuer: options.issuer,
    baseUrl: options.baseUrl,
    apiIdentifier: options.apiIdentifier ?? options.baseUrl,
    accessTokenAlgorithm: options.accessTokenAlgorithm ?? 'ES256',
    resources: new Map((options.declared?.resources ?? []).map((resource) => [resource.id, resource])),
    lifetimes,
    defaultPlan: options.defaultPlan ?? defaultPlan,
    store,
    clients: new ClientDirectory(store.clients, clock),
    keys,
    passwords,
    passwordRule: new PasswordRule(options.passwords, branding.name),
    metrics: createIdentityMetrics(options.metrics, { passwords, keys, clock }),
    refreshMac: new MacKey(encryptionKey, 'refresh token'),
    formMac: new MacKey(encryptionKey, 'form token'),
    encryptionKey,
    secureCookies: options.issuer.startsWith('https:'),
    branding,
    languages: new Languages(new URL('pages/texts/', import.meta.url), branding.textsFolder),
    features,
    limit: options.limit ?? unlimited,
    refund: options.refund ?? (async () => {}),
    blocked: options.blocked ?? (() => 0),
    forgive: options.forgive ?? (async () => {}),
    clientProofs: new ClientProofs(clock),
    wakeOutbox,
    mail,
    assertions: new ClientAssertions({ clock, loopback: features.loopbackCalls }),
    refusals: new RefusalBudget(),
    clock,
    log,
  }
}

/** What is signed with from the start: what ID tokens are by default or can be, and what the configuration names. */
function algorithmsOf({ accessTokenAlgorithm, declared }: IdentityOptions): SigningAlgorithm[] {
  const { clients = [], resources = [] } = declared ?? {}
  const named = [
    accessTokenAlgorithm,
    ...clients.flatMap((client) => [client.access_token_signed_response_alg, client.id_token_signed_response_alg]),
    ...resources.map((resource) => resource.access_token_signed_response_alg),
  ]
  return [...new Set<SigningAlgorithm>(['ES256', 'RS256', ...named.filter((alg) => alg !== undefined)])]
}
