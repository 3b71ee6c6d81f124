/**
 * Benchmark `token`: client credentials for an ES256 JWT. Gatehouse on PostgreSQL against oidc-provider in memory, each in a
 * process of its own.
 *
 * The figure is tokens per second of the candidate's processor time; `ratio_elapsed` is by the clock on the wall, where
 * the load generator shares the machine's cores.
 *
 * Equal on both sides: client_secret_post over 32 kept-alive connections, one scope, one audience, 15 minutes, a JWT
 * signed ES256; the sides take turns, and the median of the rounds counts.
 * Not equal, in our favour: ours keeps no row for a JWT; the peer writes one into memory.
 * Not equal, in the peer's favour: ours keeps secrets hashed, and its clients in PostgreSQL, read again every 2 s.
 *
 * `ratio_rs256_of_signing` is RS256 tokens (2048 bits) per second of processor time against bare signatures.
 */
import { constants, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { startPostgres } from '@gatehouse/testing'
import { type BenchmarkResult, type Pace, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'
import { ask } from '../gateway/load.ts'
import { measureServer, rawForm, startTokenServer, type TokenServer } from '../identity/process.ts'
import { client, scope } from '../identity/protocol.ts'

const rounds = 5
const seconds = 3
const connections = 32
const signatures = 2_000

export async function benchmark(): Promise<BenchmarkResult> {
  const postgres = await startPostgres({ settings: ['fsync=on'] })
  try {
    const start = { database: postgres.url, families: 0 }
    const requests = [
      rawForm('/token', {
        grant_type: 'client_credentials',
        client_id: client.id,
        client_secret: client.secret,
        scope,
      }),
    ]
    const pace = (server: TokenServer, path: TokenServer['url']): Promise<Pace> =>
      measureServer(server, () => ask({ url: path, requests, connections, seconds }))
    await using peer = await startTokenServer('baseline.ts', { families: 0 })
    const es256 = await (async () => {
      await using ours = await startTokenServer('ours.ts', start)
      await pace(ours, ours.url)
      await pace(peer, peer.url)
      return await takeTurns(rounds, { ours: () => pace(ours, ours.url), peer: () => pace(peer, peer.url) })
    })()
    await using rs256 = await startTokenServer('ours.ts', { ...start, algorithm: 'RS256' })
    const slow = await takeTurns(3, { ours: () => pace(rs256, rs256.url), signing: signBare })
    return report(es256, slow)
  } finally {
    await postgres.stop()
  }
}

function report(es256: Record<'ours' | 'peer', Pace>, rs256: Record<'ours' | 'signing', Pace>): BenchmarkResult {
  const row = ({ perCoreSecond, perSecond }: Pace) =>
    `${Math.round(perCoreSecond)}/s (${Math.round(perSecond)}/s on the wall)`
  console.log('client credentials in a second of one core')
  console.log(`  ours          ${row(es256.ours)}, target 2 times the peer`)
  console.log(`  oidc-provider ${row(es256.peer)}`)
  console.log(`  ours, RS256   ${row(rs256.ours)}, target 0.8 of bare signing`)
  console.log(`  bare RS256    ${row(rs256.signing)}`)
  return {
    bench: 'token',
    ours: Math.round(es256.ours.perCoreSecond),
    peer: Math.round(es256.peer.perCoreSecond),
    ratio: timesAsMuch(es256.ours.perCoreSecond, es256.peer.perCoreSecond),
    unit: 'tokens per core second',
    ratio_elapsed: timesAsMuch(es256.ours.perSecond, es256.peer.perSecond),
    ratio_rs256_of_signing: timesAsMuch(rs256.ours.perCoreSecond, rs256.signing.perCoreSecond),
  }
}

/** Signatures alone, on the thread pool as in the service. */
function signBare(): Promise<Pace> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const data = Buffer.alloc(500, 1)
  const one = () =>
    new Promise<void>((resolve, reject) => {
      const padded = { key, padding: constants.RSA_PKCS1_PADDING }
      sign('sha256', data, padded, (error) => (error ? reject(error) : resolve()))
    })
  return paceOf(signatures, async () => {
    let left = signatures
    const inTurn = async () => {
      while (left-- > 0) await one()
    }
    await Promise.all(Array.from({ length: connections }, inTurn))
  })
}
