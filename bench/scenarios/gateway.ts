/**
 * Benchmark `gateway`: the whole way through the gateway. Gatehouse's against @fastify/http-proxy with @fastify/rate-limit
 * and tokens verified by jose, each in a process of its own, before the same upstream in another.
 *
 * The figure is requests per second of the gateway's processor time: what a core carries when the gateway has it alone.
 * By the clock on the wall (`ratio_elapsed`) generator and upstream share the machine's cores with the candidate, and hide
 * part of the difference.
 *
 * Equal on both sides: 1,000 users' RS256 access tokens (2048 bits), each used again and again, on 64 kept-alive
 * connections; an answer of 150 bytes; counters in memory; the caller told to the upstream in a header, the token kept
 * back; the sides take turns, and the median of the rounds counts.
 *
 * Not equal, in our favour: a token that was verified within the last minute is remembered; jose verifies each time.
 * Not equal, in the peer's favour: ours counts two sliding windows (minute and day) all or nothing where the peer counts
 * one fixed one, looks the tier up, cleans inbound headers, refuses ambiguous paths, signs a context token for the
 * upstream, and counts metrics by route and tier.
 *
 * `added_p99_ms` is what the limiter's check adds to a request at half load: two exact windows, counters in Redis, at half of
 * the requests per second on the wall that our side took before (`half_load_per_second`), from the call of the check to its
 * decision, in the gateway's process, waiting for its event loop included: 99 in 100 wait no longer, in the median round.
 * `added_p99_ms_store_frozen` is the same with Redis stopped by SIGSTOP, once the breaker is open. The specification asks for less
 * than 5 ms, we for 1 ms. Generator, upstream and Redis share the machine's cores with the gateway.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startRedis } from '@gatehouse/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type BenchmarkResult, type Pace, takeTurns, timesAsMuch } from '../benchmark.ts'
import { ask } from '../gateway/load.ts'
import type { Start, Usage } from '../gateway/protocol.ts'

const issuer = 'https://auth.example'
const audience = 'https://api.example'
const users = 1_000
const connections = 64
const rounds = 5
const seconds = 3

export async function benchmark(): Promise<BenchmarkResult> {
  const { jwk, requests } = await prepare()
  await using upstream = await startProcess('upstream.ts')
  const start: Start = { upstream: upstream.url, issuer, audience, jwk }
  const paces = await throughput(start, requests)
  const halfLoad = Math.round(paces.ours.perSecond / 2)
  const added = await addedTime(start, requests, halfLoad)
  const row = (pace: Pace) => `${Math.round(pace.perCoreSecond)}/s (${Math.round(pace.perSecond)}/s on the wall)`
  console.log('requests through the gateway in a second of one core')
  console.log(`  ours   ${row(paces.ours)}, target 1.5 times the peer`)
  console.log(`  peer   ${row(paces.peer)}`)
  console.log(
    `the limiter adds at p99, at ${halfLoad} requests a second (half load): ${added.healthy} ms, ${added.frozen} ms with Redis frozen; specified below 5 ms, target 1 ms`,
  )
  return {
    bench: 'gateway',
    ours: Math.round(paces.ours.perCoreSecond),
    peer: Math.round(paces.peer.perCoreSecond),
    ratio: timesAsMuch(paces.ours.perCoreSecond, paces.peer.perCoreSecond),
    unit: 'requests per core second',
    ratio_elapsed: timesAsMuch(paces.ours.perSecond, paces.peer.perSecond),
    half_load_per_second: halfLoad,
    added_p99_ms: added.healthy,
    added_p99_ms_store_frozen: added.frozen,
  }
}

async function throughput(start: Start, requests: readonly string[]) {
  await using ours = await startProcess('ours.ts', start)
  await using peer = await startProcess('baseline.ts', start)
  const pace = async (server: GatewayServer): Promise<Pace> => {
    await server.usage()
    const begun = performance.now()
    const count = await ask({ url: server.url, requests, connections, seconds })
    const elapsed = (performance.now() - begun) / 1_000
    const { cpu } = await server.usage()
    return { perSecond: count / elapsed, perCoreSecond: count / (cpu / 1_000_000) }
  }
  await pace(ours)
  await pace(peer)
  // Awaited here: what is returned unawaited would run after the processes are gone.
  return await takeTurns(rounds, { ours: () => pace(ours), peer: () => pace(peer) })
}

async function addedTime(start: Start, requests: readonly string[], rate: number) {
  const redis = await startRedis()
  try {
    await using ours = await startProcess('ours.ts', { ...start, redis: redis.url })
    const calmly = (seconds: number) => ask({ url: ours.url, requests, connections, seconds, rate })
    const p99 = async () => {
      await calmly(2)
      const seen: number[] = []
      for (let round = 0; round < rounds; round++) {
        await ours.usage()
        await calmly(2)
        seen.push((await ours.usage()).checkP99Ms)
      }
      return Math.round((seen.toSorted((a, b) => a - b)[rounds >> 1] ?? 0) * 1_000) / 1_000
    }
    const healthy = await p99()
    redis.process.kill('SIGSTOP')
    return { healthy, frozen: await p99() }
  } finally {
    await redis.stop()
  }
}

async function prepare() {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const requests: string[] = []
  for (let n = 0; n < users; n++) {
    const token = await new SignJWT({ client_id: 'web', scope: 'read:orders', jti: `t${n}` })
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'one' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(`user-${n}`)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
    requests.push(
      `GET /orders/7?expand=lines HTTP/1.1\r\nHost: api.example\r\nAccept: application/json\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
  }
  return { jwk, requests }
}

interface GatewayServer extends AsyncDisposable {
  readonly url: string
  /** What was used since the last question. */
  usage(): Promise<Usage>
}

async function startProcess(file: string, start?: Start): Promise<GatewayServer> {
  const child: ChildProcess = fork(join(import.meta.dirname, '../gateway', file), start ? [JSON.stringify(start)] : [])
  const [url] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [''])])
  if (!url) throw new Error(`${file} ended before it was ready`)
  return {
    url,
    async usage() {
      child.send('usage')
      const [usage] = await once(child, 'message')
      return usage
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
