import { setTimeout as pause } from 'node:timers/promises'
import type { History } from '@gatehouse/gateway'
import {
  countClockJumps,
  countEvictions,
  countUnconfirmedUnits,
  reportEviction,
  reportGateways,
  reportHotKeys,
} from '@gatehouse/gateway'
import { redisHistory } from '@gatehouse/gateway/redis'
import { attemptLimitPolicies } from '@gatehouse/identity'
import { type Database, type Log, migrate, type Registry, silentLog } from '@gatehouse/kit'
import { type CounterStore, hotKeyStore, hybridStore, memoryStore, shardedStore } from '@gatehouse/limiter'
import { migrations, postgresStore } from '@gatehouse/limiter/postgres'
import { type Presence, redisPresence, redisStore } from '@gatehouse/limiter/redis'
import type { Cluster, Redis } from 'ioredis'
import { type Config, parseRedisAddress, redisAddressExpected } from '../../config/config.ts'
import { watchEviction } from './eviction.ts'
import { connectRedis } from './redis.ts'

/** The stores that count requests. */
export interface Counters {
  readonly store: CounterStore
  /** Where policies with `quota: regional` are counted, when it is another one. */
  readonly regionalStore?: CounterStore
  /** Where policies that fail closed are counted, when it is another one, and how long they wait for it. */
  readonly closed?: { readonly closedStore: CounterStore; readonly closedDeadlineMs: number }
  /** Whether all processes that a policy which fails closed has to count for are counted together. */
  readonly areShared: boolean
  /** Who was limited, of all processes; undefined where each keeps its own. */
  readonly history?: History
  /** Where the counters are, in words. */
  readonly place: string
  /** Told of each identifier that memory had to forget while it still mattered, here or in the limiter's local fallback. */
  readonly onUnexpiredEviction: () => void
  /** The shared store's state; undefined where the counters are in memory. */
  readonly ping?: () => Promise<unknown>
  /** Resolves once the shared store is connected, or after a second without it. */
  readonly connected?: () => Promise<unknown>
  close(): Promise<void>
}

/** How many gateways share the counters until they are counted: those that count locally spend a share of it each. */
const defaultGateways = 4
const lastReconcileMs = 1_000
const maxConnectMs = 1_000
/** A commit waits for the disk. */
const databaseDeadlineMs = 1_000

/**
 * Opens the counter store. A Redis that can't be reached doesn't stop the start: the limiter survives its loss. Without
 * one counters are in memory, but for policies that fail closed: PostgreSQL has those, for all processes that share it.
 */
export async function openCounters(
  config: Config,
  database: Database | undefined,
  log: Log,
  metrics: Registry,
): Promise<Counters> {
  const { redisUrl, databaseUrl } = config.settings
  if (redisUrl) return redisCounters(config, redisUrl.reveal(), log, metrics)
  const onUnexpiredEviction = countEvictions(metrics)
  const here = { store: memoryStore({ onUnexpiredEviction }), onUnexpiredEviction, close: async () => {} }
  // The embedded engine belongs to one process alone: what is counted there is counted for all.
  if (!database || !databaseUrl) return { ...here, areShared: database !== undefined, place: 'in memory' }
  await migrate(database, 'limiter', migrations)
  return {
    ...here,
    closed: { closedStore: postgresStore(database), closedDeadlineMs: databaseDeadlineMs },
    areShared: true,
    place: 'attempt limits in PostgreSQL (DATABASE_URL), all others in the memory of each process',
  }
}

/**
 * Refuses a policy that fails closed where each process would count it by itself. The attempt limits of identity are
 * counted by the processes that run it.
 * @throws RangeError naming the policy and what to set
 */
export function refuseUnshared({ areShared }: Counters, { tiers = {}, policies = {} }: Config['file']): void {
  if (areShared) return
  const found = Object.entries({ ...tiers, ...policies }).find(
    ([name, { failure_mode: mode }]) => mode === 'closed' && !(name in attemptLimitPolicies),
  )
  if (found) {
    throw new RangeError(
      `policy "${found[0]}" fails closed, so it is counted for all processes together: set REDIS_URL or DATABASE_URL`,
    )
  }
}

/**
 * Policies in hybrid mode are counted here and reconciled, those with shards split, all others pass straight through to
 * Redis.
 */
function redisCounters({ settings, file }: Config, url: string, log: Log, metrics: Registry): Counters {
  const {
    redis_cluster: cluster = false,
    redis_cluster_tags: tags,
    redis_regional_url: regionalUrl,
    gateways,
    hot_key_rate: perSecond = 500,
  } = file.engines ?? {}
  const onUnexpiredEviction = countEvictions(metrics)
  const client = connect(url, cluster, log)
  const reader = connect(url, cluster, silentLog)
  watchEviction(client, reportEviction(metrics), log)
  const onClockMoved = countClockJumps(metrics)
  const regional = regionalUrl === undefined ? undefined : connect(regionalUrl, cluster, log)
  const key = settings.services.has('gateway') ? 'rl:gateways' : 'rl:services'
  const { store: counters, presence } = storeIn(client, key, { onClockMoved, tags })
  const region = regional && storeIn(regional, key, { onClockMoved, tags })
  const activeGateways = () => Math.max(gateways ?? 1, presence.instances ?? defaultGateways)
  const hot = hotKeyStore(counters, { perSecond, instances: activeGateways })
  const hybrid = hybridStore(hot, { instances: activeGateways, onUnconfirmed: countUnconfirmedUnits(metrics) })
  if (settings.services.has('gateway')) reportGateways(metrics, activeGateways)
  reportHotKeys(metrics, () => hot.hotKeys)
  return {
    store: hybrid,
    areShared: true,
    place: 'Redis (REDIS_URL)',
    history: redisHistory(reader),
    onUnexpiredEviction,
    ...(region ? { regionalStore: region.store } : {}),
    ping: () => client.ping(),
    connected: () => waitForConnection(client, presence),
    async close() {
      // A store that is silent must not hold the stop up.
      const reconciled = hybrid.close().catch(() => {})
      await withTimeout(
        lastReconcileMs,
        Promise.all([reconciled, hot.close(), presence.close(), region?.presence.close()]),
      )
      for (const one of [client, reader, regional]) one?.disconnect()
    },
  }
}

/** Waits for the connection and for the first heartbeat of this gateway, a second for each at most. */
async function waitForConnection(client: Redis | Cluster, presence: Presence): Promise<void> {
  const ready = new Promise<void>((resolve) => client.once('ready', resolve))
  if (client.status !== 'ready') await Promise.race([ready, pause(maxConnectMs, undefined, { ref: false })])
  if (client.status === 'ready') await withTimeout(maxConnectMs, presence.beat())
}

/** The counters in a Redis, and who counts there. One that forgot its gateways has lost the counters too. */
function storeIn(
  redis: Redis | Cluster,
  key: string,
  { onClockMoved, tags }: { readonly onClockMoved: () => void; readonly tags: number | undefined },
): { readonly store: CounterStore; readonly presence: Presence } {
  const keyTag = redis.isCluster ? 'braces' : 'none'
  const counters = redisStore(redis, { keyTag, onClockStep: onClockMoved, ...(tags === undefined ? {} : { tags }) })
  const presence = redisPresence(redis, { key, onLoss: () => counters.suspectLoss() })
  return { store: shardedStore(counters), presence }
}

const withTimeout = (milliseconds: number, done: Promise<unknown>) =>
  Promise.race([done, pause(milliseconds, undefined, { ref: false })])

/** `cluster` is the file's word for an address that names a single node. @throws RangeError for one that can't be read */
function connect(url: string, cluster: boolean, log: Log): Redis | Cluster {
  const address = parseRedisAddress(url)
  if (!address) throw new RangeError(`the address of the counter store ${redisAddressExpected}`)
  return connectRedis(cluster && address.kind === 'server' ? { ...address, kind: 'cluster' } : address, log)
}
