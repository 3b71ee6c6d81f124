/**
 * Benchmark `bearer`: verify a JWT access token. `@gatehouse/bearer` against `jose` `jwtVerify`, in one process.
 *
 * The figure is verifications per second of processor time: what a core does when every core is wanted, as in a busy
 * gateway. By the clock on the wall (`…_wall`) jose has two cores here and ours has one: jose has its signatures
 * checked on the thread pool, ours answers at once.
 *
 * Equal on both sides: the same RS256 tokens (2048 bits, signed by jose), the key at hand, and the same checks of
 * signature, `typ`, `alg`, `iss`, `aud`, `exp` and `nbf`. The sides take turns, and the median of the rounds counts.
 *
 * Not equal, in our favour: a known token is one that was verified within the last minute. Ours remembers it, and looks
 * at its times and at revocation again; jose remembers nothing and verifies anew. A new token is one that was never
 * seen before: there both do the whole work.
 *
 * Not equal, in the peer's favour: ours checks the scope, refuses repeated JSON members, freezes the caller and looks
 * at a list of 1,000 revoked grants besides. jose runs with 64 verifications in flight, where it is fastest.
 */
import { type Bearer, createBearer, createRevocations } from '@gatehouse/bearer'
import { createLocalJWKSet, exportJWK, generateKeyPair, type JWK, type JWTVerifyGetKey, jwtVerify, SignJWT } from 'jose'
import { type BenchmarkResult, type Pace, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'

const issuer = 'https://auth.example'
const audience = 'https://api.example'
const demand = { scope: 'write:notifications' }
const rounds = 21
const newTokens = 2_000
const knownTokens = 1_000
const knownTimes = 50
const joseInFlight = 64

export async function benchmark(): Promise<BenchmarkResult> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const headers: string[] = []
  for (let n = 0; n < newTokens; n++) headers.push(`Bearer ${await accessToken(privateKey, n)}`)

  const keys = createLocalJWKSet({ keys: [jwk] })
  await verifyByJose(keys, headers)
  const known = headers.slice(0, knownTokens)
  const knowing = await bearerCheck(jwk)
  const paces = await takeTurns(rounds, {
    jose: () => paceOf(headers.length, () => verifyByJose(keys, headers)),
    new: async () => {
      const unknowing = await bearerCheck(jwk)
      return paceOf(headers.length, () => authenticateAll(unknowing, headers))
    },
    known: async () => {
      authenticateAll(knowing, known)
      return paceOf(known.length * knownTimes, () => {
        for (let time = 0; time < knownTimes; time++) authenticateAll(knowing, known)
      })
    },
  })
  console.log(`RS256 access tokens of ${headers[0]?.length} characters, verified in a second of one core (on the wall)`)
  console.log(`  known  ${row(paces.known, paces.jose)}, target 20`)
  console.log(`  new    ${row(paces.new, paces.jose)}, target 1.5`)
  console.log(`  jose   ${row(paces.jose, paces.jose)}`)
  return {
    bench: 'bearer',
    ours: Math.round(paces.known.perCoreSecond),
    peer: Math.round(paces.jose.perCoreSecond),
    ratio: timesAsMuch(paces.known.perCoreSecond, paces.jose.perCoreSecond),
    unit: 'verifications per core second',
    ours_new: Math.round(paces.new.perCoreSecond),
    ratio_new: timesAsMuch(paces.new.perCoreSecond, paces.jose.perCoreSecond),
    ratio_elapsed: timesAsMuch(paces.known.perSecond, paces.jose.perSecond),
    ratio_new_elapsed: timesAsMuch(paces.new.perSecond, paces.jose.perSecond),
  }
}

/** A check that knows the key and no token yet. */
async function bearerCheck(jwk: JWK): Promise<Bearer> {
  const grants = Array.from({ length: 1_000 }, (_, n) => ({ grant: `revoked-${n}` }))
  const revocations = createRevocations({
    read: async (after) => ({ revocations: after === undefined ? grants : [], next: 'end' }),
  })
  await revocations.poll()
  const bearer = createBearer({ issuer, audience, keys: [jwk], algorithms: ['RS256'], revocations })
  await bearer.prefetch()
  return bearer
}

function authenticateAll(bearer: Bearer, headers: readonly string[]): void {
  for (const header of headers) bearer.authenticate(header, demand)
}

async function verifyByJose(keys: JWTVerifyGetKey, headers: readonly string[]): Promise<void> {
  const expected = { issuer, audience, typ: 'at+jwt', algorithms: ['RS256'], requiredClaims: ['sub', 'exp'] }
  let next = 0
  async function verifyInTurn(): Promise<void> {
    for (let header = headers[next++]; header !== undefined; header = headers[next++]) {
      await jwtVerify(header.slice('Bearer '.length), keys, expected)
    }
  }
  await Promise.all(Array.from({ length: joseInFlight }, verifyInTurn))
}

function accessToken(privateKey: Parameters<SignJWT['sign']>[0], n: number): Promise<string> {
  return new SignJWT({ client_id: 'shop', scope: 'read:users write:notifications', grant_id: `grant-${n}` })
    .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(`user-${n}`)
    .setJti(`token-${n}`)
    .setIssuedAt()
    .setExpirationTime('15m')
    .sign(privateKey)
}

function row(pace: Pace, peer: Pace): string {
  const format = (rate: number) => Math.round(rate).toLocaleString('en-US').padStart(9)
  const core = timesAsMuch(pace.perCoreSecond, peer.perCoreSecond)
  const elapsed = timesAsMuch(pace.perSecond, peer.perSecond)
  return `${format(pace.perCoreSecond)} (${format(pace.perSecond)})   ${core} (${elapsed}) x jose`
}
