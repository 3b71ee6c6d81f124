/**
 * Benchmark `refresh`: refresh token rotation. Gatehouse on PostgreSQL with fsync on against oidc-provider in memory, each in
 * a process of its own.
 *
 * The figure is rotations per second by the clock on the wall, for ours waits for the disk; `ratio_core` is per second
 * of the candidate's processor time, in which PostgreSQL's own is not counted.
 *
 * Equal on both sides: 64 families, each refreshed again and again with the token of the answer before; a JWT access
 * token signed ES256 and a new refresh token each time; no ID token. The sides take turns, the median counts.
 * Not equal, in the peer's favour: ours is durable, ends a family when an old token comes back however late, and keeps
 * the successor sealed for a client that lost the answer; the peer forgets everything when it stops.
 */
import { startPostgres } from '@gatehouse/testing'
import { Pool } from 'undici'
import { type BenchmarkResult, type Pace, takeTurns, timesAsMuch } from '../benchmark.ts'
import { measureServer, startTokenServer, type TokenServer } from '../identity/process.ts'
import { web } from '../identity/protocol.ts'

const families = 64
const rounds = 5
const seconds = 3

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings: ['fsync=on'] })
  try {
    await using ours = await startTokenServer('ours.ts', { database: postgres.url, families })
    await using peer = await startTokenServer('baseline.ts', { families })
    const [oursRefreshes, peerRefreshes] = [refresher(ours), refresher(peer)]
    await oursRefreshes()
    await peerRefreshes()
    const paces = await takeTurns(rounds, { ours: oursRefreshes, peer: peerRefreshes })
    const row = ({ perCoreSecond, perSecond }: Pace) =>
      `${Math.round(perSecond)}/s (${Math.round(perCoreSecond)}/s of one core)`
    console.log('refresh token rotations in a second on the wall')
    console.log(`  ours, durable            ${row(paces.ours)}, target as many as the peer`)
    console.log(`  oidc-provider, in memory ${row(paces.peer)}`)
    return {
      bench: 'refresh',
      ours: Math.round(paces.ours.perSecond),
      peer: Math.round(paces.peer.perSecond),
      ratio: timesAsMuch(paces.ours.perSecond, paces.peer.perSecond),
      unit: 'rotations per second',
      ratio_core: timesAsMuch(paces.ours.perCoreSecond, paces.peer.perCoreSecond),
    }
  } finally {
    await postgres.stop()
  }
}

/** Refreshes every family in turn for some seconds; keeps the newest token of each for the next time. */
function refresher(server: TokenServer): () => Promise<Pace> {
  const tokens = [...server.refreshTokens]
  const pool = new Pool(server.url, { connections: families, pipelining: 1 })
  const refresh = async (nth: number): Promise<void> => {
    const form = {
      grant_type: 'refresh_token',
      refresh_token: tokens[nth] ?? '',
      client_id: web.id,
      client_secret: web.secret,
    }
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    })
    const answer = (await body.json()) as { refresh_token?: string }
    if (statusCode !== 200 || answer.refresh_token === undefined)
      throw new Error(`${statusCode} ${JSON.stringify(answer)}`)
    tokens[nth] = answer.refresh_token
  }
  return () =>
    measureServer(server, async () => {
      const until = performance.now() + seconds * 1_000
      const counts = tokens.map(async (_token, nth) => {
        let count = 0
        for (; performance.now() < until; count++) await refresh(nth)
        return count
      })
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    })
}
