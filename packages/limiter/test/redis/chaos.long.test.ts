import assert from 'node:assert/strict'
import {
  createLimiter,
  type Decision,
  definePolicy,
  type FailureMode,
  type Limiter,
  type Policy,
} from '@gatehouse/limiter'
import { redisStore } from '@gatehouse/limiter/redis'
import { freePort, type Server, startRedis, testWith } from '@gatehouse/testing'
import { Redis } from 'ioredis'

const limits = [{ name: 'chaos', limit: 20, windowMs: 3_600_000 }]
const policyOf = (failureMode: FailureMode): Policy => definePolicy(failureMode, limits, { failureMode })
const [open, closed, local] = [policyOf('open'), policyOf('closed'), policyOf('local')]

interface Bench {
  readonly server: Server
  readonly limiter: Limiter
  readonly client: Redis
  restart(): Promise<void>
}

/** A client as the README asks for: nothing is queued while the server is away, nothing is sent again. */
function clientOf(port: number): Redis {
  const client = new Redis(port, '127.0.0.1', {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 50,
  })
  client.on('error', () => {})
  return client
}

function chaos(title: string, body: (bench: Bench) => Promise<void>): void {
  testWith('redis-server', title, async () => {
    const port = await freePort()
    let server = await startRedis({ port })
    const client = clientOf(port)
    const [ready] = [new Promise((resolve) => client.once('ready', resolve))]
    await ready
    const limiter = createLimiter({
      store: redisStore(client),
      breaker: { failures: 3, openMs: 20, maxOpenMs: 50 },
    })
    try {
      await body({
        get server() {
          return server
        },
        limiter,
        client,
        async restart() {
          server = await startRedis({ port })
        },
      })
    } finally {
      client.disconnect()
      server.process.kill('SIGCONT')
      await server.stop()
    }
  })
}

const who = (id: string) => ({ kind: 'user', id })

async function until(done: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 20_000
  while (!(await done())) {
    assert(performance.now() < giveUpAt, 'it never came to that')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const backAtTheStore = (limiter: Limiter): Promise<void> =>
  until(async () => (await limiter.check(open, who('probe'))).source === 'store')

chaos(
  'a frozen server is answered for by each policy as it says, and counted on when it thaws',
  async ({ server, limiter }) => {
    for (let i = 0; i < 5; i++) await limiter.check(local, who('alice'))
    server.process.kill('SIGSTOP')
    await until(async () => (await limiter.check(open, who('bob'))).source === 'open')
    assert((await limiter.check(local, who('alice'))).source === 'local')
    assert(!(await limiter.check(closed, who('carol'))).allowed)
    server.process.kill('SIGCONT')
    await backAtTheStore(limiter)
    const admitted = await admittedOf(limiter, local, 'alice', 40)
    assert(admitted >= 12 && admitted <= 14, `alice had 14 left, and got ${admitted}`)
  },
)

chaos(
  'a paused server trips no more than the deadline, and nothing is replayed afterwards',
  async ({ limiter, client }) => {
    await limiter.check(open, who('alice'))
    await client.client('PAUSE', 300)
    const during: Decision[] = []
    for (let i = 0; i < 5; i++) during.push(await limiter.check(open, who('alice')))
    assert(during.some(({ source }) => source !== 'store'))
    await backAtTheStore(limiter)
    const { remaining } = await limiter.peek(open, who('alice'))
    assert(remaining >= 14, `${remaining} of 20 remain after 6 checks`)
  },
)

chaos('the counts of a server that was killed and started empty are restored', async ({ server, limiter, restart }) => {
  assert.equal(await admittedOf(limiter, local, 'alice', 15), 15)
  server.process.kill('SIGKILL')
  await until(async () => (await limiter.check(local, who('bob'))).source === 'local')
  assert.equal(await admittedOf(limiter, local, 'alice', 2), 2)
  await restart()
  await backAtTheStore(limiter)
  assert.equal(await admittedOf(limiter, local, 'alice', 20), 3)
  await until(async () => (await limiter.peek(local, who('alice'))).remaining === 0)
})

chaos(
  'a bucket on a server killed and started empty is no fuller than before',
  async ({ server, limiter, restart }) => {
    const bucket = definePolicy('bucket', [
      { name: 'bucket', algorithm: 'token-bucket', limit: 20, refillPerSecond: 0.0001 },
    ])
    assert.equal(await admittedOf(limiter, bucket, 'alice', 15), 15)
    server.process.kill('SIGKILL')
    await until(async () => (await limiter.check(local, who('bob'))).source === 'local')
    await restart()
    await backAtTheStore(limiter)
    assert.equal(await admittedOf(limiter, bucket, 'alice', 20), 5)
    await until(async () => (await limiter.peek(bucket, who('alice'))).remaining === 0)
  },
)

chaos('a flushed script cache costs one repetition and no wrong decision', async ({ limiter, client }) => {
  await limiter.check(local, who('alice'))
  await client.script('FLUSH')
  const decision = await limiter.check(local, who('alice'))
  assert.deepEqual([decision.remaining], [18])
})

chaos('an emptied server is noticed, and each of its new keys has an expiry', async ({ limiter, client }) => {
  for (let i = 0; i < 30; i++) await limiter.check(local, who(`user-${i % 7}`))
  await client.flushall()
  await client.script('FLUSH')
  for (let i = 0; i < 30; i++) await limiter.check(local, who(`user-${i % 7}`))
  for (const key of await client.keys('*')) assert((await client.pttl(key)) > 0, `${key} never expires`)
})

chaos('two processes on one server share one limit', async ({ server, limiter }) => {
  const other = clientOf(server.port)
  await new Promise((resolve) => other.once('ready', resolve))
  const second = createLimiter({ store: redisStore(other), deadlineMs: 1_000 })
  const checks = Array.from({ length: 60 }, (_, i) => (i % 2 ? limiter : second).check(closed, who('alice')))
  const decisions = await Promise.all(checks)
  assert.equal(decisions.filter(({ allowed }) => allowed).length, 20)
  other.disconnect()
})

chaos('a busy event loop causes no timeout', async ({ limiter }) => {
  await limiter.check(open, who('warm'))
  for (let i = 0; i < 60; i++) {
    // Where another process has the processor, Redis may really be late; a deadline that trips falsely trips each time.
    const sources: unknown[] = []
    while (sources.length < 20 && !sources.includes('store')) sources.push(await checkWhileBusy(limiter, `busy-${i}`))
    assert.equal(sources.at(-1), 'store')
  }
})

async function checkWhileBusy(limiter: Limiter, id: string) {
  const check = limiter.check(open, who(id))
  const blockUntil = performance.now() + 20
  while (performance.now() < blockUntil);
  return (await check).source
}

async function admittedOf(limiter: Limiter, policy: Policy, id: string, attempts: number): Promise<number> {
  let admitted = 0
  for (let i = 0; i < attempts; i++) if ((await limiter.check(policy, who(id))).allowed) admitted++
  return admitted
}
