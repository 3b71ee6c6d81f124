import type { IncomingMessage } from 'node:http'
import { signInLimitPolicies } from '@gatehouse/console/limits'
import {
  type AttemptLimits,
  type Authenticate,
  type CredentialWatch,
  consolePolicy,
  createApiKeys,
  createAuthenticate,
  createForwardedClaims,
  createGateway,
  createIdentityClient,
  createStandaloneWatch,
  createStoreWatch,
  type GatewayOptions,
  type LimitFollower,
  observeLimiter,
  routeRuleOf,
} from '@gatehouse/gateway'
import { attemptLimitPolicies, type Identity } from '@gatehouse/identity'
import { type Http, type KeyRing, StartError } from '@gatehouse/kit'
import { createLimiter, definePolicy, type Limiter } from '@gatehouse/limiter'
import { type Settings, trustOf } from '../../config/config.ts'
import type { Engine } from '../../http/health.ts'
import { encryptionKey } from '../engines.ts'
import type { Parts } from '../parts.ts'
import type { DeclaredKeys } from './api-keys.ts'
import { composeBearer } from './bearer.ts'
import { type Counters, refuseUnshared } from './counters.ts'
import { declaredLimits, followStoredLimits, limitsOfFile, requireLimits } from './limits.ts'
import { ownRoutes } from './paths.ts'

const realm = 'gatehouse'
/**
 * To each of our own services elsewhere: they bound their work themselves, and end what comes too slowly. With few
 * connections anybody could hold all of them by requests whose bodies do not come.
 */
const maxServiceConnections = 10_000
/** A reader of events may wait half a minute before the answer begins. */
const longPollHeadersMs = 60_000

/** Whose tiers and policies apply: those of the file, or those that identity stores, which the file leaves as they are. */
export type LimitsInForce = 'file' | 'stored'

/** How requests come in: past the gateway where it runs here, else with a bearer check alone. */
export interface Ingress {
  readonly authenticate: Authenticate
  /** Ends long answers with the credential that opened them. */
  readonly watch: CredentialWatch['watch']
  /** Counts what a route's own limit can't see, such as tries to sign in. */
  readonly attempts: AttemptLimits
  /**
   * Takes the file's tiers and policies anew, and resolves with those that apply then. Rejects with RangeError when they
   * are not valid, and otherwise when they can't be stored; the old ones stay.
   */
  reload(config: Parts['config']): Promise<LimitsInForce>
  /** Begins to follow the revocation feed and the stored limits, once the services of this process are built. */
  readonly follow: () => Promise<void>
  readonly engines: readonly Engine[]
}

/** `identityHere` answers the token service of this process once it is built, undefined where it runs elsewhere. */
export async function composeIngress(
  parts: Parts,
  http: Http,
  { counters, keys }: { readonly counters: Counters; readonly keys: DeclaredKeys | undefined },
  identityHere: () => Identity | undefined,
): Promise<Ingress> {
  const { config, token, clock, log, metrics, resources } = parts
  const { settings, file } = config
  const { services } = settings
  const local = services.has('identity')
  const issuer = local ? identityHere : undefined
  const { bearer, revocations } = composeBearer({ settings, issuer, token, clock, log, metrics })
  const trust = trustOf(settings)
  const issues = trust === 'sibling' || trust === 'issuer'
  const engines = issues ? [{ name: 'identity keys', needed: true, ping: () => keysAreThere(bearer.prefetch()) }] : []
  if (issues) void bearer.prefetch()
  const remote = remoteServices(parts)
  if (trust === 'sibling' && !settings.identityUrl)
    log.warn(`IDENTITY_URL is not set: the issuer's keys are fetched from ${settings.authUrl}`)
  if (trust === 'sibling' && services.has('gateway') && !token)
    log.warn('SERVICE_CLIENT_ID is not set: plans cannot be looked up, every caller has the lowest tier')
  refuseUnshared(counters, file)
  const storeWatch = createStoreWatch(clock)
  const limiter = createLimiter({ ...storesOf(counters), clock, observer: observeLimiter(metrics, log, storeWatch) })
  await warmUp(limiter, counters)
  const { elsewhere, ...lookup } = subjectLookup(parts, keys, identityHere)
  const gateway = createGateway({
    ...gatewayOptions(parts, remote),
    limiter,
    bearer,
    ...lookup,
    history: counters.history,
    storeWatch,
  })
  const { attempts } = gateway
  let stored: LimitFollower | undefined
  const follow = async () => {
    const stopFollowing = revocations?.start()
    resources.push(async () => stopFollowing?.())
    stored = followStoredLimits(parts, gateway, counters, { identityHere, elsewhere })
    resources.push(async () => stored?.stop())
    await stored?.started
  }
  const reload: Ingress['reload'] = async (next) => {
    refuseUnshared(counters, next.file)
    if (stored?.hasStored || identityHere()) requireLimits(config, counters, next)
    const limits = limitsOfFile(next)
    await identityHere()?.limits.applyFile(limits)
    await stored?.refresh()
    if (!stored?.hasStored) gateway.reload(declaredLimits(next.file))
    return stored?.hasStored && (limits.isMissing || !identityHere()) ? 'stored' : 'file'
  }
  resources.push(() => gateway.stop())
  if (services.has('gateway')) {
    await http.register(gateway.plugin)
    return { authenticate: gateway.authenticate, watch: gateway.watch, attempts, reload, follow, engines }
  }
  const authenticate = createAuthenticate(bearer, realm, keys && createApiKeys(keys.resolve, clock, realm))
  const { watch, stop } = createStandaloneWatch(authenticate, clock, log)
  resources.push(async () => stop())
  return { authenticate, watch, attempts, reload, follow, engines }
}

/** The options of the gateway that follow from the file and the settings. */
function gatewayOptions(parts: Parts, remote: ReturnType<typeof remoteServices>) {
  const { config, clock, log, metrics } = parts
  const { file } = config
  return {
    routes: (file.routes ?? []).map(routeRuleOf),
    upstreams: declaredUpstreams(parts),
    ownRoutes: ownRoutes({ identity: 'identity' in remote, notify: 'notify' in remote }),
    siblings: remote,
    clientPolicies: policiesOfClients(file),
    builtInClientPolicies: { [config.settings.console.clientId]: consolePolicy },
    trustedProxies: file.trusted_proxies ?? [],
    ...(file.streams_per_caller === undefined ? {} : { streamsPerCaller: file.streams_per_caller }),
    ietfFields: file.ietf_rate_limit_fields ? 'draft-11' : false,
    realm,
    recordChange: parts.recordChange,
    ...(file.max_limit_grant === undefined ? {} : { maxGrant: file.max_limit_grant }),
    contextIssuer: config.settings.baseUrl,
    ...contextSecret(config.settings),
    metrics,
    log,
    clock,
    attemptLimits: { ...attemptLimitPolicies, ...signInLimitPolicies },
    ...declaredLimits(file),
  } satisfies Partial<GatewayOptions>
}

/** The clients of the file that have a policy: they count where no identity of ours says otherwise. */
function policiesOfClients({ clients = [] }: Parts['config']['file']): Record<string, string> {
  const bound = clients.flatMap(({ client_id: id, policy }) => (policy === undefined ? [] : [[id, policy] as const]))
  return Object.fromEntries(bound)
}

const warmUpPolicy = definePolicy('warm-up', [{ name: 'warm-up', limit: 1, windowMs: 1_000 }], {
  failureMode: 'closed',
})
const warmUpPeeks = 20

/** The first checks of a cold process would miss their deadline, and be answered without the shared store. */
async function warmUp(limiter: Limiter, { connected }: Counters): Promise<void> {
  if (!connected) return
  await connected()
  for (let peeks = 0; peeks < warmUpPeeks; peeks++) {
    const { source } = await limiter.peek(warmUpPolicy, { kind: 'ip', id: '127.0.0.1' })
    if (source !== 'store') return
  }
}

function storesOf({ store, regionalStore, closed, onUnexpiredEviction }: Counters) {
  const fallback = { onUnexpiredEviction }
  return { store, ...(regionalStore ? { regionalStore } : {}), ...closed, fallback }
}

/** Gateways with one key sign alike; a gateway by itself makes its own. */
function contextSecret(settings: Settings): { contextSecret?: KeyRing } {
  if (settings.encryptionKey) return { contextSecret: settings.encryptionKey }
  return settings.services.has('identity') ? { contextSecret: encryptionKey(settings) } : {}
}

async function keysAreThere(prefetch: Promise<boolean>): Promise<void> {
  if (!(await prefetch)) throw new Error('the keys of the issuer cannot be fetched')
}

/**
 * Our own services in other processes, as upstreams; they check tokens themselves, so the token goes along, and believe
 * this gateway by the service client's secret for whom it asks.
 */
function remoteServices({ config, clock, addressOf }: Parts) {
  const { services, identityUrl, notifyUrl, serviceClient } = config.settings
  const claims = serviceClient && createForwardedClaims(serviceClient.secret, clock)
  const sibling = {
    forward_token: true,
    connections: maxServiceConnections,
    requestHeaders: (raw: IncomingMessage, target: string) =>
      claims?.headers(raw.method ?? '', target, addressOf(raw)) ?? {},
  }
  return {
    ...(identityUrl && !services.has('identity')
      ? { identity: { ...sibling, url: identityUrl, ownCookies: true } }
      : {}),
    ...(notifyUrl && !services.has('notify')
      ? {
          notify: { ...sibling, url: notifyUrl },
          'notify-streams': { ...sibling, url: notifyUrl, headers_timeout_ms: longPollHeadersMs },
        }
      : {}),
  }
}

function declaredUpstreams({ config }: Parts) {
  const declared = config.file.upstreams ?? {}
  for (const name of ['identity', 'notify', 'notify-streams']) {
    if (name in declared) throw new StartError(`upstreams.${name}: the name belongs to our own service; choose another`)
  }
  return declared
}

/** Where plans and API keys are looked up: here, or in the process that runs identity. */
function subjectLookup(
  { config, token, resources }: Parts,
  keys: DeclaredKeys | undefined,
  identityHere: () => Identity | undefined,
) {
  const { services, identityUrl } = config.settings
  if (services.has('identity')) {
    return {
      planOf: async (subject: string) => identityHere()?.planOf(subject),
      resolveApiKey: async (key: string) => identityHere()?.resolveApiKey(key),
      elsewhere: undefined,
    }
  }
  const declared = keys ? { resolveApiKey: keys.resolve } : {}
  if (!identityUrl || !token) return { planOf: async () => undefined, ...declared, elsewhere: undefined }
  const elsewhere = createIdentityClient(identityUrl, token)
  resources.push(() => elsewhere.close())
  const resolveApiKey = async (key: string) => (await keys?.resolve(key)) ?? elsewhere.resolveApiKey(key)
  return { planOf: elsewhere.planOf, resolveApiKey, elsewhere }
}
