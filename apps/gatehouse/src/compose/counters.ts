import { setTimeout as pause } from 'node:timers/promises'
import { countEvictions, showGateways, showHotKeys } from '@gatehouse/gateway'
import type { Log, Registry } from '@gatehouse/kit'
import { type CounterStore, hotKeyStore, hybridStore, memoryStore, shardedStore } from '@gatehouse/limiter'
import { type Presence, redisPresence, redisStore } from '@gatehouse/limiter/redis'
import type { Cluster, Redis } from 'ioredis'
import { type Config, parseRedisAddress, redisAddressExpected } from '../config.ts'
import { connectRedis } from './redis.ts'

export interface Counters {
  readonly store: CounterStore
  /** Where policies with `quota: regional` are counted, when it is another one. */
  readonly regionalStore?: CounterStore
  /** Told of each identifier that memory had to forget while it still mattered, here or in the limiter's local fallback. */
  readonly onUnexpiredEviction: () => void
  /** The shared store's state; undefined where the counters are in memory. */
  readonly ping?: () => Promise<unknown>
  /** Resolves once the shared store is connected, or after a second without it. */
  readonly connected?: () => Promise<unknown>
  close(): Promise<void>
}

/** How many gateways share the counters until they are counted: those that count locally spend a share of it each. */
const presumedGateways = 4
const lastReconcileMs = 1_000
const longestConnectMs = 1_000

/**
 * Opens the counter store. One that can't be reached doesn't stop the start: the limiter survives its loss. Policies in
 * hybrid mode are counted here and reconciled, those with shards split, all others pass straight through.
 */
export function openCounters({ settings, file }: Config, log: Log, metrics: Registry): Counters {
  const {
    redis_cluster: cluster = false,
    redis_regional_url: regionalUrl,
    gateways,
    hot_key_rate: perSecond = 500,
  } = file.engines ?? {}
  const onUnexpiredEviction = countEvictions(metrics)
  if (!settings.redisUrl)
    return { store: memoryStore({ onUnexpiredEviction }), onUnexpiredEviction, close: async () => {} }
  const client = connect(settings.redisUrl.reveal(), cluster, log)
  const regional = regionalUrl === undefined ? undefined : connect(regionalUrl, cluster, log)
  const key = settings.services.has('gateway') ? 'rl:gateways' : 'rl:services'
  const { store: counters, presence } = storeIn(client, key)
  const region = regional && storeIn(regional, key)
  const living = () => Math.max(gateways ?? 1, presence.instances ?? presumedGateways)
  const hot = hotKeyStore(counters, { perSecond, instances: living })
  const hybrid = hybridStore(hot, { instances: living })
  if (settings.services.has('gateway')) showGateways(metrics, living)
  showHotKeys(metrics, () => hot.hotKeys)
  return {
    store: hybrid,
    onUnexpiredEviction,
    ...(region ? { regionalStore: region.store } : {}),
    ping: () => client.ping(),
    async connected() {
      const ready = new Promise<void>((resolve) => client.once('ready', resolve))
      if (client.status !== 'ready') await Promise.race([ready, pause(longestConnectMs, undefined, { ref: false })])
      if (client.status === 'ready') await atMost(longestConnectMs, presence.beat())
    },
    async close() {
      // A store that is silent must not hold the stop up.
      const told = hybrid.close().catch(() => {})
      await atMost(lastReconcileMs, Promise.all([told, hot.close(), presence.close(), region?.presence.close()]))
      client.disconnect()
      regional?.disconnect()
    },
  }
}

/** The counters in a Redis, and who counts there. One that forgot its gateways has lost the counters too. */
function storeIn(redis: Redis | Cluster, key: string): { readonly store: CounterStore; readonly presence: Presence } {
  const counters = redisStore(redis, { keyTag: redis.isCluster ? 'braces' : 'none' })
  const presence = redisPresence(redis, { key, onLoss: () => counters.suspectLoss() })
  return { store: shardedStore(counters), presence }
}

const atMost = (milliseconds: number, done: Promise<unknown>) =>
  Promise.race([done, pause(milliseconds, undefined, { ref: false })])

/** `cluster` is the file's word for an address that names a single node. @throws RangeError for one that can't be read */
function connect(url: string, cluster: boolean, log: Log): Redis | Cluster {
  const address = parseRedisAddress(url)
  if (!address) throw new RangeError(`the address of the counter store ${redisAddressExpected}`)
  return connectRedis(cluster && address.kind === 'server' ? { ...address, kind: 'cluster' } : address, log)
}
