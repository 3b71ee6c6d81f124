/** A gateway in a process of its own, for tests: `node gateway-process.ts REDIS_URL`; prints its address. */
import { redisLimiter } from './redis-limiter.ts'
import { setup } from './setup.ts'

// Patient, for what is shown is that counters are shared, not what a cold process does when its answer is late.
const { limiter } = await redisLimiter(process.argv[2] ?? '', { deadlineMs: 10_000 })
const { http } = await setup({ limiter, policies: { anonymous: { daily: 20 } } })
console.log(await http.listen({ port: 0, host: '127.0.0.1' }))
