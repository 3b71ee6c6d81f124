import { createTally, KeyRing, prometheusReader, type StatReader, type Tally, withUnwritten } from '@gatehouse/kit'
import { brandingFrom, Languages } from '@gatehouse/kit/page'
import { ClientAssertions } from '../clients/assertion.ts'
import { ClientCache } from '../clients/cache.ts'
import { AuditBudget } from '../clients/failure-budget.ts'
import { LastUses } from '../clients/last-uses.ts'
import { RecentAuthentications } from '../clients/recent-authentications.ts'
import { unlimited } from '../config/attempt-limits.ts'
import { type Features, parseFeatures } from '../config/features.ts'
import type { IdentityOptions } from '../config/options.ts'
import { ConnectionList } from '../connections/list.ts'
import { ProviderClients } from '../connections/provider-clients.ts'
import { createTxtResolver } from '../http/txt-resolver.ts'
import { MacKey } from '../keys/mac-key.ts'
import { SigningKeys } from '../keys/signing-keys.ts'
import type { SigningAlgorithm } from '../model/client.ts'
import { findPasskeyObstacle } from '../model/factors/relying-party.ts'
import { type Lifetimes, parseLifetimes } from '../model/grants/lifetimes.ts'
import { prometheusSources } from '../model/measure.ts'
import { PasswordHasher } from '../passwords/hasher.ts'
import { PasswordPolicy } from '../passwords/rule.ts'
import type { AttemptContext, IdentityContext } from './context.ts'
import { createIdentityMetrics } from './metrics.ts'

/** The plan of users and clients for whom none is named: the first tier of the specification. */
export const defaultPlan = 'free'

/**
 * Builds the context of every endpoint from the options.
 * @throws StartError for an option out of bounds
 */
export function createContext(options: IdentityOptions, signalOutbox: () => void): IdentityContext {
  const { store, clock, log } = options
  const encryptionKey = KeyRing.of(options.encryptionKey)
  const lifetimes = parseLifetimes(options.lifetimes)
  const branding = brandingFrom(options.branding)
  const mail = options.notify !== undefined
  const features = createFeatures(options, mail)
  const tally = createTally(clock.now())
  const passwords = new PasswordHasher(options.passwords)
  const keys = createSigningKeys(options, encryptionKey, lifetimes)
  return {
    issuer: options.issuer,
    apiIdentifier: options.apiIdentifier ?? options.baseUrl,
    accessTokenAlgorithm: options.accessTokenAlgorithm ?? 'ES256',
    resources: new Map((options.declared?.resources ?? []).map((resource) => [resource.id, resource])),
    lifetimes,
    defaultPlan: options.defaultPlan ?? defaultPlan,
    tiers: options.tiers,
    limitRules: options.limitRules,
    builtInClients: new Set(options.builtInClients),
    store,
    clients: new ClientCache(store.clients, clock),
    connections: new ConnectionList(store.connections, clock, log),
    providers: new ProviderClients({ clock, encryptionKey, loopback: features.loopbackCalls }),
    keys,
    passwords,
    passwordPolicy: new PasswordPolicy(options.passwords, branding.name),
    metrics: createIdentityMetrics(options.metrics, { passwords, keys, clock }, tally),
    tally,
    history: createHistory(options, tally),
    refreshMac: new MacKey(encryptionKey, 'refresh token'),
    formMac: new MacKey(encryptionKey, 'form token'),
    encryptionKey,
    secureCookies: options.issuer.startsWith('https:'),
    branding,
    languages: new Languages(new URL('../pages/texts/', import.meta.url), branding.textsFolder),
    features,
    mfa: options.mfa ?? 'off',
    ...attemptContext(options),
    ...clientAuthentication(options, features.loopbackCalls),
    signalOutbox,
    resolveTxt: createTxtResolver(options.dns),
    mail,
    sms: mail && options.sms === true,
    clock,
    log,
  }
}

/** Where statistics are read: in Prometheus where there is one. */
function createHistory({ store, prometheusUrl: url, clock }: IdentityOptions, tally: Tally): StatReader {
  const own = withUnwritten(store.stats, { unwritten: () => tally.peek() }, clock)
  return url === undefined ? own : prometheusReader({ url, sources: prometheusSources, fallback: own })
}

/** The features of the options. One that is off only because the issuer does not allow it is named in the log. */
function createFeatures({ issuer, features: chosen, background, log }: IdentityOptions, mail: boolean): Features {
  const obstacle = findPasskeyObstacle(issuer)
  if (obstacle !== undefined && chosen?.passkeys === undefined && background !== false)
    log.warn({ issuer }, `passkeys are off: ${obstacle}`)
  return parseFeatures(chosen, { issuer, mail })
}

/** The attempt limits of the options; without them nothing is limited. */
function attemptContext({ limit, refund, blocked, forgive }: IdentityOptions): AttemptContext {
  return {
    limit: limit ?? unlimited,
    refund: refund ?? (async () => {}),
    blocked: blocked ?? (async () => 0),
    forgive: forgive ?? (async () => {}),
  }
}

function clientAuthentication({ clock }: IdentityOptions, loopback: boolean) {
  return {
    assertions: new ClientAssertions({ clock, loopback }),
    recentAuthentications: new RecentAuthentications(clock),
    lastUses: new LastUses(clock),
    auditBudget: new AuditBudget(),
  }
}

function createSigningKeys(options: IdentityOptions, encryptionKey: KeyRing, lifetimes: Lifetimes): SigningKeys {
  return new SigningKeys({
    store: options.store.signingKeys,
    encryptionKey,
    clock: options.clock,
    log: options.log,
    algorithms: configuredAlgorithms(options),
    ageMs: lifetimes.signingKey * 1000,
    maxTokenMs: Math.max(lifetimes.accessToken, lifetimes.idToken, 3600) * 1000,
    maxSessionMs: lifetimes.maxSession * 1000,
  })
}

/** The algorithms that need a key from the start: the defaults of ID tokens, and those that the configuration names. */
function configuredAlgorithms({ accessTokenAlgorithm, declared }: IdentityOptions): SigningAlgorithm[] {
  const { clients = [], resources = [] } = declared ?? {}
  const named = [
    accessTokenAlgorithm,
    ...clients.flatMap((client) => [client.access_token_signed_response_alg, client.id_token_signed_response_alg]),
    ...resources.map((resource) => resource.access_token_signed_response_alg),
  ]
  return [...new Set<SigningAlgorithm>(['ES256', 'RS256', ...named.filter((alg) => alg !== undefined)])]
}
