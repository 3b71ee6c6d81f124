import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { askRedis, startRedisCluster, startSentinelGroup, testWith } from '@gatehouse/testing'
import { started } from '../support/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'counter-groups-'))
after(() => rmSync(folder, { recursive: true }))

/** The program on these counters, with six requests a day for whoever shows nothing. */
function startOn(redisUrl: string) {
  const file = join(folder, 'gatehouse.yaml')
  writeFileSync(file, `engines: { redis_url: "${redisUrl}" }\npolicies: { anonymous: { daily: 6 } }\n`)
  return started({ env: { GATEHOUSE_CONFIG: file } })
}

const ask = async (url: string): Promise<number> => {
  const answer = await fetch(`${url}/nowhere`)
  await answer.arrayBuffer()
  return answer.status
}

async function until(what: string, done: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  while (!(await done())) {
    assert.ok(performance.now() < giveUpAt, `${what} never came`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

testWith(
  'redis-server',
  'limits hold across a failover that Sentinels make, and requests are answered meanwhile',
  async () => {
    const group = await startSentinelGroup()
    const { sentinels, primary, replica } = group
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
    const program = await startOn(`redis+sentinel://${hosts}/${group.name}`)
    try {
      for (let i = 0; i < 3; i++) assert.equal(await ask(program.url), 404)
      await until('the replica', async () => (await askRedis(replica.port, 'keys', 'rl:*')) !== '')
      primary.process.kill('SIGKILL')
      assert.equal(await ask(program.url), 404, 'answered by the count of this process')
      await until('a new primary', async () => (await group.primaryPort()) === replica.port)
      await until('the counters', async () => {
        const { engines } = (await (await fetch(`${program.url}/readyz`)).json()) as { engines: { counters: string } }
        return engines.counters === 'ok'
      })
      assert.equal(await ask(program.url), 404)
      assert.equal(await ask(program.url), 404)
      assert.equal(await ask(program.url), 429, 'three before, one meanwhile, two after')
      const keys = (await askRedis(replica.port, 'keys', 'rl:*ip:127.0.0.1:*')).split('\n')
      const counts = await Promise.all(keys.map(async (key) => Number(await askRedis(replica.port, 'get', key))))
      assert.ok(counts.includes(6), `the new primary counts on: ${counts}`)
    } finally {
      await program.stop()
      await group.stop()
    }
  },
)

testWith(
  'redis-server',
  'counters lie in a Redis Cluster, a group of identifiers in one slot, and a lost node costs no answer',
  async () => {
    const { servers, stop } = await startRedisCluster()
    const program = await startOn(`redis+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`)
    try {
      for (let i = 0; i < 6; i++) assert.equal(await ask(program.url), 404)
      assert.equal(await ask(program.url), 429)
      const keysByServer = await Promise.all(servers.map(({ port }) => askRedis(port, 'keys', 'rl:*')))
      const own = keysByServer.findIndex((keys) => /:ip:127\.0\.0\.1\{\d+\}:/.test(keys))
      assert.ok(own >= 0, keysByServer.join())
      servers[own]?.process.kill('SIGKILL')
      assert.equal(await ask(program.url), 429, 'remembered by this process')
    } finally {
      await program.stop()
      await stop()
    }
  },
)
