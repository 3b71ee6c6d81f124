import { type Http, KeyRing, type RecordChange, type Worker } from '@gatehouse/kit'
import { brandingFrom, Languages } from '@gatehouse/kit/page'
import { createManagement, type Management } from './admin/commands.ts'
import { type ResolvedApiKey, resolveApiKey } from './admin/keys/api-keys.ts'
import { changeRecorder } from './audit/record.ts'
import { startWorkers } from './background/workers.ts'
import { ClientAssertions } from './clients/assertion.ts'
import { ClientCache } from './clients/cache.ts'
import { AuditBudget } from './clients/failure-budget.ts'
import { RecentAuthentications } from './clients/recent-authentications.ts'
import { unlimited } from './config/attempt-limits.ts'
import { parseFeatures } from './config/features.ts'
import { parseLifetimes } from './config/lifetimes.ts'
import type { IdentityOptions } from './config/options.ts'
import { applyDeclarations, type Seeded } from './config/seed.ts'
import type { IdentityContext } from './context/context.ts'
import { createIdentityMetrics } from './context/metrics.ts'
import { type Introspected, introspect } from './introspect/endpoint.ts'
import { MacKey } from './keys/mac-key.ts'
import { type PublicJwk, SigningKeys } from './keys/signing-keys.ts'
import type { SigningAlgorithm } from './model/client.ts'
import { PasswordHasher } from './passwords/hasher.ts'
import { PasswordPolicy } from './passwords/rule.ts'
import { type RevocationPage, readRevocations } from './revoke/feed.ts'
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
  isCompromisedKey(kid: string): boolean
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
  const context = createContext(options, () => {
    for (const worker of outbox) worker.wake()
  })
  await context.keys.refresh()
  const seeded = await applyDeclarations(context, options)
  const workers = options.background === false ? undefined : startWorkers(context, options)
  if (workers) outbox.push(workers.mails, workers.logouts)
  return {
    plugin: (http) => routes(http, context, options.authenticate),
    seeded,
    workers: Object.values(workers ?? {}),
    keys: () => context.keys.getJwks(),
    isCompromisedKey: (kid) => context.keys.isCompromised(kid),
    async planOf(subject) {
      const found = await context.store.subjects.findPlan(subject)
      return found && { plan: found.plan ?? context.defaultPlan }
    },
    resolveApiKey: (key) => resolveApiKey(context, key),
    introspect: (token) => introspect(context, token),
    revocations: (after) => readRevocations(context, after),
    recordChange: changeRecorder(context),
    management: createManagement(context),
    ready: () => context.store.ping(),
  }
}

function createContext(options: IdentityOptions, signalOutbox: () => void): IdentityContext {
  const { store, clock, log } = options
  const encryptionKey = KeyRing.of(options.encryptionKey)
  const lifetimes = parseLifetimes(options.lifetimes)
  const branding = brandingFrom(options.branding)
  const mail = options.notify !== undefined
  const features = parseFeatures(options.features, mail)
  const maxTokenMs = Math.max(lifetimes.accessToken, lifetimes.idToken, 3600) * 1000
  const passwords = new PasswordHasher(options.passwords)
  const keys = new SigningKeys({
    store: store.signingKeys,
    encryptionKey,
    clock,
    log,
    algorithms: configuredAlgorithms(options),
    ageMs: lifetimes.signingKey * 1000,
    maxTokenMs,
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
    clients: new ClientCache(store.clients, clock),
    keys,
    passwords,
    passwordPolicy: new PasswordPolicy(options.passwords, branding.name),
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
    recentAuthentications: new RecentAuthentications(clock),
    signalOutbox,
    mail,
    assertions: new ClientAssertions({ clock, loopback: features.loopbackCalls }),
    auditBudget: new AuditBudget(),
    clock,
    log,
  }
}

/** What is signed with from the start: what ID tokens are by default or can be, and what the configuration names. */
function configuredAlgorithms({ accessTokenAlgorithm, declared }: IdentityOptions): SigningAlgorithm[] {
  const { clients = [], resources = [] } = declared ?? {}
  const named = [
    accessTokenAlgorithm,
    ...clients.flatMap((client) => [client.access_token_signed_response_alg, client.id_token_signed_response_alg]),
    ...resources.map((resource) => resource.access_token_signed_response_alg),
  ]
  return [...new Set<SigningAlgorithm>(['ES256', 'RS256', ...named.filter((alg) => alg !== undefined)])]
}
