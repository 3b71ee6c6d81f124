/**
 * Benchmark `processes`: what a token, an accepted event and a limited request cost with 1, 2 and 4 worker processes that
 * share a port (PROCESSES), on PostgreSQL with fsync on and on Redis.
 *
 * The figures are µs of processor time of the program: supervisor and workers together; `servers` are those of PostgreSQL
 * and Redis beside it. By the clock nothing is compared: the generator, the servers and four workers do not have a core
 * each here.
 *
 * Equal on all sides: servers of the same kind, 32 kept-alive connections for each worker, so that each gathers batches of
 * the same size; the sides take turns, and the median of the rounds counts. All run from the beginning to the end, so that
 * each is warmed up once.
 * Not equal: more workers poll more while they are idle, and in the same elapsed time each has less to do, because all
 * share the cores of this machine. Both add to what a request costs.
 *
 * - token: client credentials for an ES256 JWT, through the gateway's limits.
 * - event: `POST /v1/notify`, 202 after commit, another user of 10,000 and another dedup key each; in-app, delivered.
 * - check: a request that a policy of two windows counts exactly in Redis, for one of 100,000 addresses.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startPostgres, startRedis, temporaryFolder } from '@gatehouse/testing'
import type { BenchmarkResult } from '../benchmark.ts'
import { ask } from '../gateway/load.ts'
import { cpuOf } from '../notify/cpu.ts'
import { type Program, startProgram } from '../program/program.ts'

const counts = [1, 2, 4] as const
const rounds = 3
const seconds = 4
/** For each kind and worker: all share the cores of this machine, and each compiles the program by itself. */
const warmUpSeconds = 3
const connectionsEach = 32
const secret = 'a-secret-of-the-benchmark-0123456789'
const durable = ['fsync=on', 'synchronous_commit=on', 'shared_buffers=512MB', 'max_wal_size=4GB']

/** Enough that none reaches the limit of tokens for one client. */
const clients = Array.from({ length: 16 }, (_, n) => `bench-${n}`)

const configuration = `
channels: { email: off, sms: off, push: off }
clients:
${clients
  .map(
    (id) => `  - client_id: ${id}
    client_secret: ${secret}
    grant_types: [client_credentials]
    access_token_lifetime_seconds: 3600
    scopes: [write:notifications, admin:notifications]
    plan: roomy`,
  )
  .join('\n')}
tiers: { free: { rpm: 10 }, roomy: { rpm: 1000000000, daily: 1000000000 } }
policies:
  anonymous: { rpm: 1000000000 }
  identity: { rpm: 1000000000 }
  producer: { rpm: 1000000000 }
  two: { rpm: 1000000, daily: 1000000000 }
routes: [{ path: /healthz, public: true, policy: two }]
event_types: [{ event: parcel.moved, channels: [in-app] }]
`

const names = ['token', 'event', 'check'] as const

interface Side extends AsyncDisposable {
  readonly count: number
  readonly program: Program
  readonly works: Readonly<Record<(typeof names)[number], Work>>
  /** Processor time so far, in milliseconds. */
  cpuMs(): { readonly program: number; readonly servers: number }
}

interface Cost {
  readonly programUs: number
  readonly serversUs: number
}

/** One kind of request, as it goes over the wire. */
interface Work {
  readonly next: () => string
  readonly status: number
}

export async function benchmark(): Promise<BenchmarkResult> {
  await using sides = new AsyncDisposableStack()
  const started: Side[] = []
  for (const count of counts) started.push(sides.use(await startSide(count)))
  const costs = new Map<string, Cost[]>()
  for (let round = 0; round < rounds; round++) {
    for (const side of started) {
      for (const name of names) {
        const key = `${name}_${side.count}`
        costs.set(key, [...(costs.get(key) ?? []), await costOf(side, side.works[name])])
      }
    }
  }
  return report(costs)
}

/** A program with so many workers, warmed up, on servers of its own. */
async function startSide(count: number): Promise<Side> {
  await using stack = new AsyncDisposableStack()
  const [postgres, redis] = [await startPostgres({ settings: durable }), await startRedis()]
  stack.defer(async () => {
    await redis.stop()
    await postgres.stop()
  })
  const file = join(temporaryFolder('processes'), 'gatehouse.yaml')
  writeFileSync(file, configuration)
  const program = stack.use(
    await startProgram(await freePort(), {
      GATEHOUSE_CONFIG: file,
      DATABASE_URL: postgres.url,
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: 'an-encryption-key-of-the-benchmark-12345',
      TRUSTED_PROXIES: '127.0.0.0/8',
      PROCESSES: String(count),
    }),
  )
  const works = await worksOf(program)
  for (const name of names) await load(program, works[name], count, warmUpSeconds * count)
  const rest = stack.move()
  return {
    count,
    program,
    works,
    cpuMs: () => ({ program: cpuOf(program.pid), servers: cpuOf(postgres.process.pid) + cpuOf(redis.process.pid) }),
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  }
}

async function costOf({ program, count, cpuMs }: Side, work: Work): Promise<Cost> {
  const before = cpuMs()
  const done = await load(program, work, count, seconds)
  const after = cpuMs()
  return {
    programUs: ((after.program - before.program) * 1_000) / done,
    serversUs: ((after.servers - before.servers) * 1_000) / done,
  }
}

function load({ url }: Program, { next, status }: Work, count: number, forSeconds: number): Promise<number> {
  return ask({ url, next, status, connections: connectionsEach * count, seconds: forSeconds })
}

async function worksOf({ url }: Program): Promise<Side['works']> {
  const forms = clients.map((id) =>
    new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret }).toString(),
  )
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const answer = await fetch(`${url}/token`, { method: 'POST', headers, body: forms[0] ?? '' })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  await fetch(`${url}/v1/templates/parcel.moved/in-app/en`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ subject: 'Parcel', body: 'It moved.' }),
  })
  const post = (path: string, type: string, body: string, headers = '') =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const tokenRequests = forms.map((form) => post('/token', 'application/x-www-form-urlencoded', form))
  let requests = 0
  const tokenRequest = () => tokenRequests[requests++ % tokenRequests.length] ?? ''
  const run = crypto.randomUUID()
  let sent = 0
  const event = () => {
    const n = sent++
    const body = `{"event":"parcel.moved","user_id":"user-${n % 10_000}","dedup_key":"${run}-${n}","data":{}}`
    return post('/v1/notify', 'application/json', body, `Authorization: Bearer ${token}\r\n`)
  }
  const check = () => {
    const n = Math.floor(Math.random() * 100_000)
    return `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.${n >> 16}.${(n >> 8) & 255}.${n & 255}\r\n\r\n`
  }
  return {
    token: { next: tokenRequest, status: 200 },
    event: { next: event, status: 202 },
    check: { next: check, status: 200 },
  }
}

function report(costs: ReadonlyMap<string, readonly Cost[]>): BenchmarkResult {
  const us = (key: string, of: keyof Cost) =>
    Math.round(
      (costs
        .get(key)
        ?.map((cost) => cost[of])
        .toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0) * 10,
    ) / 10
  const members: Record<string, number> = {}
  const ratios: number[] = []
  console.log('µs of processor each, program + servers, by the number of workers')
  for (const name of names) {
    const row = counts.map((count) => {
      const key = `${name}_${count}`
      const ratio = Math.round((us(key, 'programUs') / us(`${name}_1`, 'programUs')) * 100) / 100
      members[`${name}_us_${count}`] = us(key, 'programUs')
      members[`${name}_servers_us_${count}`] = us(key, 'serversUs')
      if (count > 1) {
        members[`${name}_ratio_${count}`] = ratio
        ratios.push(ratio)
      }
      return `${count}: ${us(key, 'programUs')} + ${us(key, 'serversUs')}${count > 1 ? ` (${ratio} ×)` : ''}`
    })
    console.log(`  ${name.padEnd(6)} ${row.join('   ')}`)
  }
  return {
    bench: 'processes',
    ours: members.event_us_4 ?? 0,
    peer: members.event_us_1 ?? 0,
    ratio: Math.max(...ratios),
    unit: 'µs of processor for an event with 4 workers and with 1; the ratio is the highest of all, at most 1.1',
    ...members,
  }
}
