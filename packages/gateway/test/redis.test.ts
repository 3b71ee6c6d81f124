import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort, startRedis, testWith } from '@gatehouse/testing'
import { redisClient, redisLimiter } from './support/redis-limiter.ts'
import { setup } from './support/setup.ts'

async function startGatewayProcess(redisUrl: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'support/gateway-process.ts'), redisUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return {
    url: String(line).trim(),
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

testWith('redis-server', 'two gateway processes on one Redis share one limit', async () => {
  const redis = await startRedis()
  const gateways = await Promise.all([startGatewayProcess(redis.url), startGatewayProcess(redis.url)])
  try {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => fetch(`${gateways[i % 2]?.url}/open`).then(({ status }) => status)),
    )
    assert.equal(answers.filter((status) => status === 200).length, 20)
    assert.equal(answers.filter((status) => status === 429).length, 40)
    const client = redisClient(redis.url)
    await client.connect()
    const keys = await client.keys('*')
    assert.ok(keys.length > 0)
    for (const key of keys) assert.ok((await client.pttl(key)) > 0, key)
    client.disconnect()
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await redis.stop()
  }
})

/** A gateway on a real Redis, with a route for each failure mode and two requests a day on each. */
async function beforeRedis() {
  const port = await freePort()
  const redis = await startRedis({ port })
  const { limiter, close } = await redisLimiter(redis.url, { breaker: { openMs: 2_000 } })
  const { http } = await setup({
    limiter,
    routes: [
      { path: '/open', public: true, policy: 'open' },
      { path: '/healthz', public: true, policy: 'closed' },
      { path: '/users/{id}', public: true, policy: 'local' },
    ],
    policies: {
      open: { daily: 2, failure_mode: 'open' },
      closed: { daily: 2, failure_mode: 'closed' },
      local: { daily: 2, failure_mode: 'local' },
    },
  })
  const paths = { open: '/open', closed: '/healthz', local: '/users/u1' }
  return {
    redis,
    port,
    close,
    ask: (mode: keyof typeof paths, remoteAddress = '192.0.2.1') => http.inject({ url: paths[mode], remoteAddress }),
  }
}

type Ask = Awaited<ReturnType<typeof beforeRedis>>['ask']

/** Asks until the answer is the wanted one; a breaker opens and closes after some answers and some time. */
async function until(wanted: (status: number) => boolean, ask: () => ReturnType<Ask>): Promise<void> {
  for (let attempts = 0; attempts < 400; attempts++) {
    if (wanted((await ask()).statusCode)) return
    await pause(25)
  }
  assert.fail('the wanted answer never came')
}

async function assertModesHold(ask: Ask): Promise<void> {
  await until(
    (status) => status === 200,
    () => ask('open'),
  )
  for (let i = 0; i < 5; i++) assert.equal((await ask('open')).statusCode, 200, 'open lets everybody through')
  await until(
    (status) => status === 429,
    () => ask('closed', '192.0.2.2'),
  )
  for (let i = 0; i < 5; i++) {
    const answer = await ask('closed', '192.0.2.3')
    assert.equal(answer.statusCode, 429, 'closed rejects everybody')
    assert.ok(Number(answer.headers['retry-after']) >= 1)
    assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
  }
  assert.equal((await ask('local', '192.0.2.4')).statusCode, 200)
  assert.equal((await ask('local', '192.0.2.4')).statusCode, 200)
  assert.equal((await ask('local', '192.0.2.4')).statusCode, 429, 'local counts on by itself')
}

testWith('redis-server', 'a frozen Redis puts each policy into its failure mode until Redis recovers', async () => {
  const { redis, ask, close } = await beforeRedis()
  try {
    for (const expected of [200, 200, 429]) assert.equal((await ask('open')).statusCode, expected)
    redis.process.kill('SIGSTOP')
    await assertModesHold(ask)
    redis.process.kill('SIGCONT')
    await until(
      (status) => status === 429,
      () => ask('open'),
    )
    await until(
      (status) => status === 200,
      () => ask('closed', '192.0.2.9'),
    )
  } finally {
    close()
    await redis.stop()
  }
})

testWith('redis-server', 'a killed Redis puts each policy into its failure mode until a new one starts', async () => {
  const { redis, port, ask, close } = await beforeRedis()
  let next: Awaited<ReturnType<typeof startRedis>> | undefined
  try {
    for (const expected of [200, 200, 429]) assert.equal((await ask('open')).statusCode, expected)
    await redis.stop()
    await assertModesHold(ask)
    next = await startRedis({ port })
    await until(
      (status) => status === 200,
      () => ask('closed', '192.0.2.9'),
    )
    assert.equal((await ask('closed', '192.0.2.9')).statusCode, 200)
    assert.equal((await ask('closed', '192.0.2.9')).statusCode, 429)
  } finally {
    close()
    await next?.stop()
  }
})
