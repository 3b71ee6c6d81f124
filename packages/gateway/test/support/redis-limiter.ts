import { createLimiter, type LimiterOptions } from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { Redis } from 'ioredis'
import type { GatewayOptions } from '../../src/index.ts'

/** A Redis client as a limiter wants it: nothing queued while the server is away, nothing sent twice. */
export function redisClient(url: string): Redis {
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 50,
  })
  client.on('error', () => {})
  return client
}

/** A limiter that counts in Redis, by Redis's clock. */
export async function redisLimiter(
  url: string,
  options: LimiterOptions = {},
): Promise<{ limiter: GatewayOptions['limiter']; close(): void }> {
  const client = redisClient(url)
  await client.connect()
  return { limiter: createLimiter({ ...options, store: redisStore(client) }), close: () => client.disconnect() }
}
