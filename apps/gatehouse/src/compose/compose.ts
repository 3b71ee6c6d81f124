import type { Identity } from '@gatehouse/identity'
import {
  createHttp,
  createMetrics,
  type Database,
  type Http,
  isUnavailable,
  type Log,
  type Registry,
  readSnapshot,
  StartError,
  systemClock,
} from '@gatehouse/kit'
import type { Config } from '../config/config.ts'
import { gatherApi } from '../docs/routes.ts'
import { closeServer } from '../http/close-server.ts'
import { registerCors } from '../http/cors.ts'
import { type Engine, readReadiness, registerHealth } from '../http/health.ts'
import { type BannerOptions, printSeeded } from '../process/banner.ts'
import { shareRead } from '../process/shared-read.ts'
import type { Supervision } from '../process/supervision.ts'
import { composeAudit } from './audit.ts'
import { branding } from './branding.ts'
import { composeDevSite, composeStartPage } from './dev-pages/start-page.ts'
import { openDatabase } from './engines.ts'
import { composeAddresses } from './gateway/addresses.ts'
import { declaredKeys } from './gateway/api-keys.ts'
import { composeServiceToken } from './gateway/bearer.ts'
import { type Counters, openCounters } from './gateway/counters.ts'
import { composeIngress, type LimitsInForce } from './gateway/ingress.ts'
import { composeIdentity } from './identity/identity.ts'
import { readAllMetrics, serveMetrics } from './metrics.ts'
import { composeNotify } from './notify.ts'
import { type Dispose, type Parts, seededLines } from './parts.ts'
import { supervisedReadiness } from './readiness.ts'
import { LiveStreams } from './system/live.ts'
import { registerSystem } from './system/routes.ts'

/** The program, built but not yet listening. */
export interface App {
  readonly http: Http
  readonly metrics: Registry
  readonly about: Pick<
    BannerOptions,
    | 'database'
    | 'counters'
    | 'mailbox'
    | 'devInbox'
    | 'devPagesForAll'
    | 'metricsUrl'
    | 'consoleUrl'
    | 'seeded'
    | 'developmentKey'
  >
  /** Takes tiers and policies of the file anew, and resolves with whose apply then; counters stay. */
  reload(config: Config): Promise<LimitsInForce>
  /** Finishes what is held and lets go of everything. */
  readonly stop: () => Promise<void>
}

/** What {@link compose} builds the program from. */
export interface ComposeOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
  /** Where this process is one of several that share the port: how it reaches what they report together. */
  readonly supervision?: Supervision | undefined
  /** Called before the first run makes what is shown only once: from then on a start is to be finished before it stops. */
  readonly beforeSeeding?: () => void
}

/**
 * Chooses the engines, builds the services named in SERVICES, and joins them.
 * @throws StartError for what its operator can correct
 */
export async function compose(options: ComposeOptions): Promise<App> {
  const resources: Dispose[] = []
  const stop = async () => {
    for (const dispose of resources.splice(0).reverse()) await dispose()
  }
  const built: Built = {}
  try {
    return { ...(await build(options, resources, built)), stop }
  } catch (error) {
    printSeeded(shownSeeded(built.identity, options.config.settings))
    await stop()
    if (error instanceof RangeError) throw new StartError(error.message, { cause: error })
    if (!(error instanceof StartError) && isUnavailable(error))
      throw new StartError(
        `a server that this program needs became unavailable during the start: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    throw error
  }
}

/** What is there as far as the start has come. */
interface Built {
  identity?: Identity
}

/** Our services in other processes, where this one is the gateway before them. */
function siblingsOf({ services, identityUrl, notifyUrl }: Config['settings']): Readonly<Record<string, string>> {
  if (!services.has('gateway')) return {}
  return {
    ...(identityUrl && !services.has('identity') ? { identity: identityUrl } : {}),
    ...(notifyUrl && !services.has('notify') ? { notify: notifyUrl } : {}),
  }
}

/** A gateway by itself has nothing else to do with a database. */
function countsInDatabase({ databaseUrl, redisUrl }: Config['settings']): boolean {
  return databaseUrl !== undefined && redisUrl === undefined
}

function enginesOf(database: Database | undefined, { ping }: Counters): Engine[] {
  return [
    ...(database ? [{ name: 'database', needed: true, ping: () => database.ping() }] : []),
    ...(ping ? [{ name: 'counters', needed: false, ping }] : []),
  ]
}

/** What the first run made, without the console's own registration: nobody has to keep its secret. */
function shownSeeded(identity: Identity | undefined, { console }: Config['settings']) {
  const seeded = identity?.seeded ?? []
  return seededLines(seeded.filter(({ kind, id }) => kind !== 'client' || id !== console.clientId))
}

/** The database in the words of the banner. */
function describeDatabase(database: Database | undefined, { dataDir }: Config['settings']): string {
  if (database === undefined) return 'none'
  if (database.engine === 'postgres') return 'PostgreSQL (DATABASE_URL)'
  return `${dataDir} (embedded PostgreSQL: survives the death of this process, not of the machine)`
}

async function build(options: ComposeOptions, resources: Dispose[], built: Built): Promise<Omit<App, 'stop'>> {
  const { config, version } = options
  const { settings } = config
  const { services } = settings
  const opened = await openParts(options, resources, () => built.identity)
  const { parts, database, counters, http } = opened
  const admin = database && services.has('console') ? await import('./console.ts') : undefined
  admin?.keepOriginsApart(http, settings)
  const consoleUrl = admin && `${settings.console.url}/console/`
  const site = composeDevSite(parts)
  const serveApiDocs = await gatherApi(http, { ...apiOptions(config, version), branding: branding(config), site })
  const keys = declaredKeys(config)
  const ingress = await composeIngress(parts, http, { counters, keys }, () => built.identity)
  await serveApiDocs()
  const composed = database && services.has('notify') ? await composeNotify(parts, database, ingress, site) : undefined
  options.beforeSeeding?.()
  if (database && services.has('identity')) {
    built.identity = await composeIdentity(parts, database, { ingress, counters, notify: composed?.notify })
    await http.register(built.identity.plugin)
  }
  if (composed) await http.register(composed.plugin)
  if (database && admin) await http.register((await admin.composeConsole(parts, database, ingress)).plugin)
  await ingress.follow()
  const { identity } = built
  const { readiness, live, metricsUrl } = await serveState(options, { ...opened, ingress, identity, composed })
  const engines = { database: describeDatabase(database, settings), counters: counters.place }
  const described = { ...engines, metricsUrl, developmentKey: keys?.development }
  const liveEngines = async () => (await readiness()).engines
  await composeStartPage(parts, http, site, { ...described, version, identity, engines: liveEngines })
  resources.push(() => closeServer(http))
  // The first of a stop: streams would keep the server from closing, and calls that begin later might be cut off.
  resources.push(async () => {
    live.close()
    composed?.notify.stopSending()
    identity?.stopSending()
  })
  await http.ready()
  const mailbox = composed?.mailbox ?? false
  const about = {
    ...described,
    mailbox,
    devInbox: composed?.devInbox ?? false,
    devPagesForAll: mailbox && config.file.dev_pages === true,
    consoleUrl,
    seeded: shownSeeded(identity, settings),
  }
  return { http, metrics: parts.metrics, reload: ingress.reload, about }
}

/** The services of a process, built and joined. */
interface Composed extends Awaited<ReturnType<typeof openParts>> {
  readonly ingress: Awaited<ReturnType<typeof composeIngress>>
  readonly identity: Identity | undefined
  readonly composed: Awaited<ReturnType<typeof composeNotify>> | undefined
}

/** Serves what tells the state of the process: its health, its status, its live figures and its metrics. */
async function serveState(options: ComposeOptions, { parts, http, ...services }: Composed) {
  const { log, supervision } = options
  const { settings } = options.config
  const { metrics, resources } = parts
  const { database, counters, ingress, identity, composed } = services
  const engines = [...enginesOf(database, counters), ...ingress.engines, ...(composed?.engines ?? [])]
  const readiness = shareRead(() => readReadiness(engines), { keepMs: 0 })
  const everywhere = supervision ? supervisedReadiness(supervision, readiness) : readiness
  registerHealth(http, everywhere)
  supervision?.answer('metrics', () => readSnapshot(metrics))
  const live = new LiveStreams(() => readAllMetrics(metrics, supervision), systemClock)
  registerSystem(http, {
    ...options,
    clock: systemClock,
    database,
    counters: counters.place,
    readiness: everywhere,
    services: () => ({ identity, notify: composed?.notify }),
    ingress,
    live,
  })
  const { authenticate } = ingress
  const metricsUrl = await serveMetrics({ http, metrics, settings, log, resources, authenticate, supervision })
  return { readiness, live, metricsUrl }
}

/** Opens the engines and the server, and what all services share. */
async function openParts(
  { config, log }: ComposeOptions,
  resources: Dispose[],
  identityHere: () => Identity | undefined,
) {
  const { settings } = config
  const { services, baseUrl } = settings
  const metrics = createMetrics({ processMetrics: true })
  const keepsData = services.has('identity') || services.has('notify') || services.has('console')
  const database = keepsData || countsInDatabase(settings) ? await openDatabase(settings, log) : undefined
  if (database) resources.push(() => database.close())
  const counters = await openCounters(config, database, log, metrics)
  resources.push(() => counters.close())
  const addressOf = composeAddresses(config, systemClock, log)
  const http = createHttp({ log, https: baseUrl.startsWith('https:'), addressOf })
  registerCors(http, config.file.cors_origins ?? [])
  const token = composeServiceToken(settings)
  const recordChange = composeAudit({ settings, token, log, resources, identityHere })
  const parts: Parts = { config, log, metrics, clock: systemClock, addressOf, token, recordChange, resources }
  return { parts, database, counters, http }
}

function apiOptions({ settings }: Config, version: string) {
  const { baseUrl, authUrl, issuer, services } = settings
  const siblings = siblingsOf(settings)
  return { version, baseUrl, authUrl, issuer: issuer?.url, limited: services.has('gateway'), siblings }
}
