import type { Log } from '@gatehouse/kit'
import { Cluster, Redis } from 'ioredis'
import type { RedisAddress } from '../../config/config.ts'

const retryStrategy = (attempt: number) => Math.min(1_000, attempt * 50)

/** Nothing is queued while the store is away and nothing sent again, so that no increment is replayed later. */
const unqueued = { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 } as const

/** A slot whose primary is gone fails at once: the limiter's failure mode answers, nothing waits for another. */
const impatient = {
  enableOfflineQueue: false,
  clusterRetryStrategy: retryStrategy,
  maxRedirections: 3,
  retryDelayOnClusterDown: 0,
  retryDelayOnFailover: 0,
  slotsRefreshTimeout: 2_000,
} as const

/**
 * Connects to the counter store, wherever its primary is: found again when a Sentinel or the Cluster has made another, and
 * when the one connected to says that it only reads now or says nothing at all.
 */
export function connectRedis(address: RedisAddress, log: Log): Redis | Cluster {
  const { kind, nodes, group, tls, username, password, db, sentinelUsername, sentinelPassword } = address
  const options = {
    ...unqueued,
    connectTimeout: 2_000,
    socketTimeout: 2_000,
    reconnectOnError: (error: Error) => error.message.includes('READONLY'),
    ...(tls ? { tls: {} } : {}),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(db === undefined ? {} : { db }),
  }
  const sentinel = {
    sentinels: [...nodes],
    name: group ?? '',
    failoverDetector: true,
    sentinelRetryStrategy: retryStrategy,
    sentinelReconnectStrategy: retryStrategy,
    sentinelCommandTimeout: 2_000,
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
  }
  const [server] = nodes
  const client =
    kind === 'cluster'
      ? new Cluster([...nodes], { ...impatient, redisOptions: options })
      : new Redis({ ...options, ...(kind === 'sentinel' ? sentinel : server), retryStrategy })
  return logErrors(client, log)
}

function logErrors<Client extends Redis | Cluster>(client: Client, log: Log): Client {
  let away = false
  client.on('ready', () => {
    if (away) log.info('the counter store is back')
    away = false
  })
  client.on('error', (error) => {
    if (!away)
      log.warn({ err: error }, 'the counter store can not be reached (REDIS_URL); the limiter goes on without it')
    away = true
  })
  return client
}
