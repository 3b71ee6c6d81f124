import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { openPostgres, Secret, silentLog } from '@gatehouse/kit'
import {
  postgresDatabase,
  type Server,
  startPostgres,
  startSilentProxy,
  temporaryFolder,
  testWith,
} from '@gatehouse/testing'
import { type EventLoad, loadConfiguration, sendEvents, shopToken, writeTemplate } from '../support/load.ts'
import { type Program, started } from '../support/program.ts'

const windowMs = 1_000

describe('a program around which something is half dead', () => {
  let server: Server | undefined
  before(async () => {
    server = await startPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  /** Starts a process on the database at `databaseUrl`. */
  const start = async (databaseUrl: string): Promise<Program> => {
    const path = join(temporaryFolder('half-dead'), 'gatehouse.yaml')
    writeFileSync(path, loadConfiguration)
    const env = {
      GATEHOUSE_CONFIG: path,
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY: 'an-encryption-key-of-this-test-alone-1234',
    }
    return started({ env })
  }

  const freshUrl = async (): Promise<string> => {
    assert.ok(server, 'PostgreSQL did not start')
    const database = await postgresDatabase(server)
    const { rows } = await database.query<{ name: string }>('SELECT current_database() AS name')
    await database.close()
    return server.url.replace(/[^/]+$/, rows[0]?.name ?? '')
  }

  testWith('postgresql', 'with one of two processes frozen, the other is soon back at 80 % of its rate', async (t) => {
    const url = await freshUrl()
    const [frozen, healthy] = [await start(url), await start(url)]
    t.after(async () => {
      frozen.process.kill('SIGCONT')
      await Promise.all([frozen.stop('SIGKILL'), healthy.stop()])
    })
    await writeTemplate(healthy, 'parcel.moved')
    const others = produce(frozen)
    const load = produce(healthy)
    await load.seconds(5)
    const before = load.rate()
    frozen.process.kill('SIGSTOP')
    const backAfter = await load.secondsUntil(before * 0.8)
    others.abandon()
    const { statuses } = await load.stop()
    t.diagnostic(`back at 80 % of ${before}/s after ${backAfter} s; statuses ${JSON.stringify(statuses)}`)
    assert.deepEqual(
      Object.keys(statuses).filter((status) => status !== '202' && status !== '503'),
      [],
    )
  })

  testWith(
    'postgresql',
    'stopped at random moments of accepting, a process holds up no other that accepts for the same users',
    async (t) => {
      const url = await freshUrl()
      const [stopped, healthy] = [await start(url), await start(url)]
      t.after(async () => {
        stopped.process.kill('SIGCONT')
        await Promise.all([stopped.stop('SIGKILL'), healthy.stop()])
      })
      await writeTemplate(healthy, 'parcel.moved')
      const users = (next: number) => `user-${next % sharedUsers}`
      const others = produce(stopped, users)
      const load = produce(healthy, users)
      await load.seconds(3)
      const waits: number[] = []
      for (let n = 0; n < stops; n++) {
        await others.seconds(Math.random() / 2)
        const goesOn = others.count()
        stopped.process.kill('SIGSTOP')
        load.forgetWaits()
        await load.seconds(stopSeconds)
        waits.push(load.slowestMs())
        stopped.process.kill('SIGCONT')
        await others.beyond(goesOn)
      }
      const [{ statuses }, ofOthers] = await Promise.all([load.stop(), others.stop()])
      t.diagnostic(`longest waits, ms: ${waits.join(' ')}; statuses ${JSON.stringify([statuses, ofOthers.statuses])}`)
      assert.ok(Math.max(...waits) < maxWaitMs, 'nobody waits for a transaction of the stopped one')
      assert.deepEqual(Object.keys(statuses), ['202'])
    },
  )

  testWith(
    'postgresql',
    'with its connections muted, a process is soon back at 80 % of its rate and loses nothing accepted',
    async (t) => {
      const url = new URL(await freshUrl())
      const proxy = await startSilentProxy(Number(url.port))
      const direct = url.href
      url.port = String(proxy.port)
      const program = await start(url.href)
      t.after(async () => {
        await program.stop()
        await proxy.stop()
      })
      await writeTemplate(program, 'parcel.moved')
      const load = produce(program)
      await load.seconds(5)
      const before = load.rate()
      proxy.silence()
      const backAfter = await load.secondsUntil(before * 0.8)
      const { statuses, ids } = await load.stop()
      t.diagnostic(`back at 80 % of ${before}/s after ${backAfter} s; statuses ${JSON.stringify(statuses)}`)
      assert.deepEqual(
        Object.keys(statuses).filter((status) => status !== '202' && status !== '503'),
        [],
      )
      assert.ok(statuses['503'], 'what was under way was answered 503')
      assert.deepEqual(await missing(direct, ids), [])
    },
  )
})

const producers = 16
/** A rate is that of so many seconds, and a process has so many of them to be back on a machine that does more. */
const rateSeconds = 3
const maxSecondsUntilBack = 45
/** So few that each is in what the other process is writing. */
const sharedUsers = 40
const stops = 12
/** Longer than the server lets a transaction be idle: whoever waits for one of the stopped process waits three seconds. */
const stopSeconds = 4
const maxWaitMs = 2_000

/** Sends events, by default each of a new user, from several producers at once, until it is stopped. */
function produce(program: Program, userOf = (next: number) => `${program.process.pid}-${next}`) {
  const startedAt = new Map<number, number>()
  let maxMs = 0
  const accepted: number[] = []
  const ids: string[] = []
  const statuses: Record<string, number> = {}
  const ending = new AbortController()
  const begun = Date.now()
  const load = (token: string): EventLoad => ({
    token,
    producers,
    isStopped: () => ending.signal.aborted,
    signal: ending.signal,
    eventAt(index) {
      startedAt.set(index, performance.now())
      return { event: 'parcel.moved', user_id: userOf(index), data: {} }
    },
    async onResponse(answer, index) {
      maxMs = Math.max(maxMs, performance.now() - (startedAt.get(index) ?? 0))
      startedAt.delete(index)
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      const body = (await answer.json()) as { id: string }
      if (answer.status !== 202) return
      ids.push(body.id)
      const second = Math.floor((Date.now() - begun) / windowMs)
      accepted[second] = (accepted[second] ?? 0) + 1
    },
  })
  const running = shopToken(program).then((token) => sendEvents(program, load(token)))
  running.catch(() => {})
  return {
    /** Resolves after so many seconds of load. */
    seconds: (count: number) =>
      new Promise<void>((resolve) => {
        setTimeout(resolve, count * 1_000)
      }),
    /** Events accepted a second, over the last whole seconds. */
    rate(): number {
      const now = Math.floor((Date.now() - begun) / windowMs)
      const last = Array.from({ length: rateSeconds }, (_, index) => accepted[now - 1 - index] ?? 0)
      return Math.round(last.reduce((sum, each) => sum + each, 0) / rateSeconds)
    },
    /**
     * Resolves to the seconds that pass until events are accepted at `rate` again. What was accepted before the call
     * does not count.
     * @throws AssertionError when that does not come
     */
    async secondsUntil(rate: number): Promise<number> {
      const rates: number[] = []
      for (let second = 1; second <= maxSecondsUntilBack; second++) {
        await this.seconds(1)
        if (second <= rateSeconds) continue
        rates.push(this.rate())
        if (this.rate() >= rate) return second
      }
      assert.fail(`never back at ${Math.round(rate)}/s: ${rates.join(' ')}`)
    },
    /** Events accepted so far. */
    count: () => ids.length,
    async beyond(count: number): Promise<void> {
      while (ids.length <= count) await this.seconds(0.02)
    },
    /** How long a request that ended since, or is under way, has waited. */
    slowestMs: () => Math.round(Math.max(maxMs, ...[...startedAt.values()].map((at) => performance.now() - at))),
    forgetWaits() {
      maxMs = 0
    },
    abandon: () => ending.abort(),
    async stop() {
      ending.abort()
      await running.catch(() => {})
      return { statuses, ids }
    },
  }
}

/** The accepted notifications that the database does not have. */
async function missing(url: string, ids: readonly string[]): Promise<string[]> {
  const database = await openPostgres({ url: new Secret(url), log: silentLog, connections: 2 })
  const { rows } = await database.query<{ id: string }>(
    `SELECT accepted.id FROM unnest($1::uuid[]) AS accepted (id)
      WHERE NOT EXISTS (SELECT FROM notify.notification n WHERE n.id = accepted.id)`,
    [ids],
  )
  await database.close()
  return rows.map(({ id }) => id)
}
