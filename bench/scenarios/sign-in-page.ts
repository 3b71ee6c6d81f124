/**
 * Benchmark `sign-in-page`: GET /authorize of a browser that is not signed in, which gets the sign-in page. Gatehouse
 * with ten other identity providers against itself with none, each in a process and on a PostgreSQL of its own.
 *
 * The figure is pages per second of the candidate's processor time, as many as 32 kept-alive connections get.
 * `ratio_p95` compares the 95th percentiles at a rate that neither is busy with, each request counted from when it was
 * due: the percentile without providers divided by that with ten. More is better in both; 1 is a page that costs the same.
 *
 * Equal on both sides: the client, the request, a new browser each time, passkeys offered; the sides take turns, and the
 * median of the rounds counts. Not equal: the page with providers is longer by their ten buttons.
 */
import { startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, type Pace, quantileOf, takeTurns, timesAsMuch } from '../benchmark.ts'
import { ask } from '../gateway/load.ts'
import { measureServer, rawGet, startTokenServer, type TokenServer } from '../identity/process.ts'
import { scope, web } from '../identity/protocol.ts'

const rounds = 5
const seconds = 3
const connections = 32
const providers = 10
/** Pages a second at which latencies are measured. */
const rate = 100

const query = new URLSearchParams({
  client_id: web.id,
  redirect_uri: web.callback,
  response_type: 'code',
  scope,
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
})
const requests = [rawGet(`/authorize?${query}`)]

export async function benchmark(): Promise<BenchmarkResult> {
  await using plain = await startCandidate(0)
  await using offering = await startCandidate(providers)
  await requireButtons(plain.server, 0)
  await requireButtons(offering.server, providers)
  await paceOfPages(plain)
  await paceOfPages(offering)
  const paces = await takeTurns(rounds, { ours: () => paceOfPages(offering), peer: () => paceOfPages(plain) })
  for (let round = 0; round < rounds; round++) for (const one of [plain, offering]) await addLatencies(one)
  return report(paces, quantileOf(offering.latencies, 0.95), quantileOf(plain.latencies, 0.95))
}

interface Candidate extends AsyncDisposable {
  readonly server: TokenServer
  readonly latencies: number[]
}

async function startCandidate(offered: number): Promise<Candidate> {
  const postgres = await startPostgres({ settings: ['fsync=on'] })
  const start = { database: postgres.url, families: 0, providers: offered }
  const server = await startTokenServer('ours.ts', start).catch(async (error) => {
    await postgres.stop()
    throw error
  })
  return {
    server,
    latencies: [],
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await postgres.stop()
    },
  }
}

/** A page that is not the sign-in page, or does not offer what it should, would be measured for nothing. */
async function requireButtons({ url }: TokenServer, count: number): Promise<void> {
  const page = await (await fetch(`${url}/authorize?${query}`)).text()
  const found = page.match(/name="connection"/g)?.length ?? 0
  if (found !== count || !page.includes('action="/login"')) throw new Error(`${found} buttons, not ${count}: ${page}`)
}

function paceOfPages({ server }: Candidate): Promise<Pace> {
  return measureServer(server, () => ask({ url: server.url, requests, connections, seconds }))
}

async function addLatencies({ server, latencies }: Candidate): Promise<void> {
  await ask({ url: server.url, requests, connections: 8, seconds, rate, latencies })
}

function report({ ours, peer }: Record<'ours' | 'peer', Pace>, p95: number, plainP95: number): BenchmarkResult {
  const row = ({ perCoreSecond }: Pace, latency: number) =>
    `${Math.round(perCoreSecond)}/s, ${Math.round(1e6 / perCoreSecond)} µs each; p95 ${latency.toFixed(1)} ms`
  console.log('sign-in pages in a second of one core')
  console.log(`  ten providers ${row(ours, p95)}`)
  console.log(`  none          ${row(peer, plainP95)}`)
  return {
    bench: 'sign-in-page',
    ours: Math.round(ours.perCoreSecond),
    peer: Math.round(peer.perCoreSecond),
    ratio: timesAsMuch(ours.perCoreSecond, peer.perCoreSecond),
    unit: 'pages per core second',
    ratio_p95: timesAsMuch(plainP95, p95),
    p95_ms: Math.round(p95 * 10) / 10,
    peer_p95_ms: Math.round(plainP95 * 10) / 10,
  }
}
