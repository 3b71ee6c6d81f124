import { storeConformance } from '@gatehouse/limiter/conformance'
import { redisStore } from '@gatehouse/limiter/redis'
import { startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

storeConformance({
  name: 'redis',
  test: (title, body) => testWith('redis-server', title, body),
  async setup() {
    const server = await startRedis()
    const client = new Redis(server.url)
    return {
      store: redisStore(client, { clock: 'limiter' }),
      async close() {
        client.disconnect()
        await server.stop()
      },
    }
  },
})
