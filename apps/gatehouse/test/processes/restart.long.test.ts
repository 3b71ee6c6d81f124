import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import type { TestContext } from 'node:test'
import { startRedis, testWith } from '@gatehouse/testing'
import { loadConfiguration, sendEvents, shopToken, writeTemplate } from '../support/load.ts'
import {
  complete,
  lowered,
  readMetrics,
  type Supervised,
  signalIfRunning,
  startSupervised,
  until,
  workersOf,
} from '../support/processes.ts'

interface Sent {
  readonly accepted: Map<number, string>
  readonly errors: number
}

/** Sends events to as many users until `during` is done; an event that was not answered is sent again. */
async function sendDuring(program: Supervised, during: () => Promise<void>): Promise<Sent> {
  const token = await shopToken(program)
  const accepted = new Map<number, string>()
  let isStopped = false
  /** Whether the test has failed: nobody answers an event then. */
  let hasFailed = false
  let errors = 0
  let next = 0
  const eventAt = (index: number) => ({
    event: 'parcel.moved',
    user_id: `user-${index}`,
    channels: ['in-app'],
    dedup_key: `moved-${index}`,
    data: {},
  })
  const produce = async () => {
    while (!isStopped) {
      const index = next++
      while (!accepted.has(index) && !hasFailed) {
        await sendEvents(program, {
          token,
          producers: 1,
          eventAt: () => eventAt(index),
          isStopped: () => accepted.has(index),
          async onResponse(response) {
            assert.equal(response.status, 202, await response.clone().text())
            accepted.set(index, ((await response.json()) as { id: string }).id)
          },
        }).catch((error: unknown) => {
          if (error instanceof assert.AssertionError) throw error
          errors++
        })
      }
    }
  }
  const producers = Promise.all(Array.from({ length: 6 }, produce))
  try {
    await until('events are accepted', 30_000, () => accepted.size > 200)
    await during()
  } catch (error) {
    hasFailed = true
    throw error
  } finally {
    isStopped = true
    await producers
  }
  return { accepted, errors }
}

/** Every accepted event is in the inbox of its user, once. */
async function assertDelivered({ database }: Supervised, { accepted }: Sent): Promise<void> {
  await until('everything is sent', 60_000, async () => {
    const { rows } = await database.query<{ left: number }>('SELECT count(*)::int AS left FROM notify.delivery_queue')
    return rows[0]?.left === 0
  })
  const { rows } = await database.query<{ items: number; users: number }>(
    'SELECT count(*)::int AS items, count(DISTINCT user_id)::int AS users FROM notify.inbox',
  )
  assert.deepEqual(rows, [{ items: accepted.size, users: accepted.size }])
}

testWith(
  'postgresql',
  'a worker killed under load loses nothing that was answered, and another takes its place',
  async (t) => {
    const program = await startSupervised(t, { processes: 3 })
    await writeTemplate(program, 'parcel.moved')
    const token = await shopToken(program)
    const before = await readMetrics(program)
    const sent = await sendDuring(program, async () => {
      const [victim = 0] = workersOf(program)
      const atKill = await readMetrics(program)
      process.kill(victim, 'SIGKILL')
      await until('the worker is gone', 10_000, () => !workersOf(program).includes(victim))
      assert.deepEqual(lowered(atKill, await readMetrics(program)), [])
      const killedAt = performance.now()
      await complete(program, 3)
      t.diagnostic(`all workers were back after ${Math.round(performance.now() - killedAt)} ms`)
    })
    t.diagnostic(`${sent.accepted.size} events accepted, ${sent.errors} requests broken by the kill`)
    await assertDelivered(program, sent)
    const after = await readMetrics(program)
    assert.deepEqual(lowered(before, after), [])
    assert.equal(sumOf(after, 'gatehouse_worker_ends_total'), 1)
    const answer = await fetch(`${program.url}/v1/event-types/parcel.moved`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200, 'a token of before is valid')
    assert.equal((await program.stop()).code, 0)
  },
)

const sumOf = (metrics: ReadonlyMap<string, number>, name: string): number =>
  [...metrics].reduce((sum, [series, value]) => (series.startsWith(`${name}{`) ? sum + value : sum), 0)

testWith('postgresql', 'SIGHUP replaces all workers under load without a refused or reset connection', async (t) => {
  const program = await startSupervised(t, { processes: 3 })
  await writeTemplate(program, 'parcel.moved')
  const before = workersOf(program)
  const metrics = await readMetrics(program)
  const probes = probe(t, program)
  const sent = await sendDuring(program, async () => {
    writeFileSync(program.file, loadConfiguration.replace('free: { rpm: 10 }', 'free: { rpm: 7 }'))
    program.process.kill('SIGHUP')
    await until('all workers are others', 90_000, async () => {
      assert.deepEqual(lowered(metrics, await readMetrics(program)), [])
      return workersOf(program).length === 3 && !workersOf(program).some((pid) => before.includes(pid))
    })
  })
  const { fresh, kept, errors } = await probes.stop()
  t.diagnostic(`${sent.accepted.size} events, ${fresh} new connections, ${kept} requests on kept-alive ones`)
  assert.deepEqual([sent.errors, errors], [0, []])
  await assertDelivered(program, sent)
  assert.deepEqual(lowered(metrics, await readMetrics(program)), [])
  assert.equal((await program.stop()).code, 0)
})

testWith('postgresql', 'SIGHUP during the start replaces the workers after it', async (t) => {
  const program = await startSupervised(t, {
    processes: 2,
    env: { LOG_LEVEL: 'info' },
    async whileStarting(starting, file) {
      await starting.printed('this process works in its share of the buckets')
      writeFileSync(file, loadConfiguration.replace('anonymous: { rpm: 1000000 }', 'anonymous: { rpm: 7000 }'))
      starting.process.kill('SIGHUP')
    },
  })
  await program.printed('all workers are replaced')
  const { headers } = await fetch(`${program.url}/nowhere`)
  assert.equal(headers.get('x-ratelimit-limit'), '7000')
  assert.equal((await program.stop()).code, 0)
})

testWith('postgresql', 'SIGHUP with an invalid file replaces no worker and changes no limit', async (t) => {
  const program = await startSupervised(t, { processes: 2 })
  const before = workersOf(program).sort()
  writeFileSync(program.file, 'policies: { anonymous: { daily: none } }\n')
  program.process.kill('SIGHUP')
  await program.printed('no worker is replaced')
  assert.deepEqual(workersOf(program).sort(), before)
  const [worker = 0] = before
  process.kill(worker, 'SIGKILL')
  await program.printed('is not started again until SIGHUP')
  await until('one worker is left', 10_000, () => workersOf(program).length === 1)
  assert.equal((await fetch(`${program.url}/healthz`)).status, 200)
  const readiness = (await (await fetch(`${program.url}/readyz`)).json()) as { status: string }
  assert.equal(readiness.status, 'degraded')
  writeFileSync(program.file, loadConfiguration)
  program.process.kill('SIGHUP')
  await complete(program, 2)
  for (const pid of workersOf(program)) signalIfRunning(pid, 'SIGTERM')
  await until('both are replaced', 60_000, () => !workersOf(program).some((pid) => before.includes(pid)))
  await complete(program, 2)
  assert.equal((await program.stop()).code, 0)
})

testWith('postgresql', 'SIGHUP with a file for one process alone replaces none of several', async (t) => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const program = await startSupervised(t, {
    processes: 2,
    configuration: `${loadConfiguration}processes: 2\nengines: { redis_url: '${redis.url}' }\n`,
    env: { PROCESSES: '', REDIS_URL: '' },
  })
  const before = workersOf(program).sort()
  writeFileSync(program.file, loadConfiguration)
  program.process.kill('SIGHUP')
  await program.printed('no worker is replaced')
  assert.match(program.stdout(), /PROCESSES: with .{1,3}2.{1,3} needs REDIS_URL/)
  assert.deepEqual(workersOf(program).sort(), before)
  const [worker = 0] = before
  process.kill(worker, 'SIGKILL')
  await program.printed('is not started again until SIGHUP')
  assert.equal((await program.stop()).code, 0)
})

/** Asks for the health of the program again and again, on new connections and on kept-alive ones. */
function probe(t: TestContext, { url }: Supervised) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  t.after(() => {
    isStopped = true
    agent.destroy()
  })
  const counts = { fresh: 0, kept: 0, errors: [] as string[] }
  let isStopped = false
  const ask = (kind: 'fresh' | 'kept') =>
    new Promise<void>((done) => {
      const request = get(`${url}/healthz`, { agent: kind === 'kept' ? agent : false }, (response) => {
        counts[kind]++
        if (response.statusCode !== 200) counts.errors.push(`${kind}: ${response.statusCode}`)
        response.resume().on('end', done)
      })
      request.on('error', (error) => {
        counts.errors.push(`${kind}: ${error.message}`)
        done()
      })
    })
  const repeat = async (kind: 'fresh' | 'kept') => {
    while (!isStopped) await ask(kind)
  }
  const all = Promise.all([repeat('fresh'), repeat('kept'), repeat('kept')])
  return {
    async stop() {
      isStopped = true
      await all
      return counts
    },
  }
}
