import assert from 'node:assert/strict'
import { startRedis, testWith } from '@gatehouse/testing'
import { redisHistory } from '../../src/redis/index.ts'
import { historyCases } from '../activity/history-suite.ts'
import { redisClient } from '../support/redis-limiter.ts'

for (const [title, run] of historyCases)
  testWith('redis-server', `in Redis ${title}`, async () => {
    const redis = await startRedis()
    const client = redisClient(redis.url)
    try {
      await client.connect()
      await run(redisHistory(client))
      const keys = await client.keys('*')
      assert.ok(keys.length > 0)
      for (const key of keys) assert.ok((await client.pttl(key)) > 0, `${key} never expires`)
    } finally {
      client.disconnect()
      await redis.stop()
    }
  })
