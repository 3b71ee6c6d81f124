import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPostgres, startRedis, temporaryFolder, testWith } from '@gatehouse/testing'
import { launch, type Program, started } from '../support/program.ts'

const production = {
  ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
  GATEHOUSE_CONFIG: 'apps/gatehouse/test/support/production.yaml',
}

/** Tries a wrong secret; the status of the answer. */
async function guess({ url }: Program): Promise<number> {
  const credentials = { client_id: 'demo', client_secret: 'a guess' }
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...credentials })
  return (await fetch(`${url}/token`, { method: 'POST', body })).status
}

testWith('postgresql', 'two processes without a Redis count failed attempts together, in PostgreSQL', async () => {
  const postgres = await startPostgres()
  const env = { ...production, DATABASE_URL: postgres.url }
  const first = await started({ env })
  const second = await started({ env: { ...env, AUTH_URL: first.url, BASE_URL: first.url } })
  try {
    assert.match(first.stdout(), /Counters +attempt limits in PostgreSQL \(DATABASE_URL\), all others in the memory/)
    const statuses: number[] = []
    for (let turn = 0; turn < 15; turn++) statuses.push(await guess(first), await guess(second))
    assert.equal(statuses.filter((status) => status === 401).length, 20)
    assert.equal(statuses.filter((status) => status === 429).length, 10)
  } finally {
    await second.stop()
    await first.stop()
    await postgres.stop()
  }
})

function configured(text: string): string {
  const file = join(temporaryFolder('attempt-limits'), 'gatehouse.yaml')
  writeFileSync(file, text)
  return file
}

test('a lone gateway rejects a fail-closed policy that it cannot count for all processes', async () => {
  const file = configured('policies: { search: { rpm: 5, failure_mode: closed } }\n')
  const { code, stderr } = await (await launch({ env: { SERVICES: 'gateway', GATEHOUSE_CONFIG: file } })).ended
  assert.equal(code, 1)
  assert.match(stderr, /"search" fails closed.*set REDIS_URL or DATABASE_URL/)
})

testWith('postgresql', 'a gateway by itself counts what fails closed in the database it is given', async () => {
  const postgres = await startPostgres()
  const file = configured(
    'policies: { few: { daily: 3, failure_mode: closed } }\nroutes: [{ path: /healthz, public: true, policy: few }]\n',
  )
  const env = {
    SERVICES: 'gateway',
    GATEHOUSE_CONFIG: file,
    DATABASE_URL: postgres.url,
    ENCRYPTION_KEY: production.ENCRYPTION_KEY,
  }
  const gateways = [await started({ env }), await started({ env })]
  try {
    const statuses = []
    for (let i = 0; i < 6; i++) statuses.push((await fetch(`${gateways[i % 2]?.url}/healthz`)).status)
    assert.deepEqual(statuses, [200, 200, 200, 429, 429, 429])
  } finally {
    for (const gateway of gateways) await gateway.stop()
    await postgres.stop()
  }
})

for (const [policy, warns] of [
  ['volatile-ttl', true],
  ['noeviction', false],
] as const)
  testWith(
    'redis-server',
    `a counter store with ${policy} ${warns ? 'brings a warning at start' : 'is fine'}`,
    async () => {
      const redis = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', policy] })
      const program = await started({ env: { REDIS_URL: redis.url }, metrics: true })
      try {
        const metrics = await (await fetch(program.metricsUrl)).text()
        assert.match(metrics, new RegExp(`^rate_limit_store_may_evict ${warns ? 1 : 0}$`, 'm'))
        assert.equal(program.stdout().includes('limits that fail closed need maxmemory-policy noeviction'), warns)
      } finally {
        await program.stop()
        await redis.stop()
      }
    },
  )
