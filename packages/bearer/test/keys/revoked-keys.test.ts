import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createBearer, createRevocations } from '../../src/index.ts'
import {
  audience,
  type FakeResponse,
  goodClaims,
  issuer,
  manualClock,
  sign,
  signingKey,
  startServer,
} from '../support/issuer.ts'

const revoked = { code: 'invalid_token', reason: 'revoked' }
const unknownKey = { code: 'invalid_token', reason: 'unknown_key' }

/** A bearer check that fetches its keys over HTTP and follows a feed of key revocations. */
async function setup(t: TestContext) {
  const clock = manualClock()
  const stolen = await signingKey('ES256', 'stolen')
  const next = await signingKey('ES256', 'next')
  const state: { answer: FakeResponse } = { answer: { body: { keys: [stolen.jwk] } } }
  const server = await startServer(() => state.answer)
  t.after(server.close)
  const feed: object[] = []
  const read = async (after = '0') => ({ revocations: feed.slice(Number(after)), next: `${feed.length}` })
  const revocations = createRevocations({ read, clock })
  const bearer = createBearer({ issuer, audience, jwksUri: `${server.origin}/jwks`, clock, revocations })
  await bearer.prefetch()
  const header = async (signer = stolen, claims: object = {}) =>
    `Bearer ${await sign(signer, { ...goodClaims(clock.now()), ...claims })}`
  const subjectOf = async (one: string) => (await bearer.authenticate(one)).subject
  return { clock, stolen, next, state, server, feed, revocations, bearer, header, subjectOf }
}

test('a revoked key ends the tokens it signed at the next poll, cached ones too', async (t) => {
  const { feed, revocations, header, subjectOf } = await setup(t)
  const known = await header()
  assert.equal(await subjectOf(known), 'alice')
  feed.push({ key: 'stolen' })
  await revocations.poll()
  await assert.rejects(subjectOf(known), revoked)
  await assert.rejects(subjectOf(await header()), revoked, 'one that was never seen')
})

test('a revoked key does not return with a stale JWK Set, however much later', async (t) => {
  const { clock, feed, revocations, bearer, header, subjectOf } = await setup(t)
  feed.push({ key: 'stolen' })
  await revocations.poll()
  for (const hours of [0, 2, 24, 24 * 30]) {
    clock.advance(hours * 3_600_000)
    await bearer.refreshKeys()
    await revocations.poll()
    await assert.rejects(subjectOf(await header()), revoked, `after ${hours} hours`)
  }
})

test('a token without a key id is refused when its key is revoked', async (t) => {
  const { feed, revocations, stolen, clock, subjectOf } = await setup(t)
  const bare = async () => `Bearer ${await sign(stolen, goodClaims(clock.now()), { kid: undefined })}`
  assert.equal(await subjectOf(await bare()), 'alice')
  feed.push({ key: 'stolen' })
  await revocations.poll()
  await assert.rejects(subjectOf(await bare()), revoked)
})

test('the successor of a revoked key is found at once, even after an unknown key id', async (t) => {
  const { feed, revocations, state, next, header, subjectOf } = await setup(t)
  await assert.rejects(subjectOf(await header(next)), unknownKey)
  state.answer = { body: { keys: [next.jwk] } }
  feed.push({ key: 'stolen' })
  await revocations.poll()
  assert.equal(await subjectOf(await header(next)), 'alice')
})

test("for a minute after a key's revocation unknown key ids cost one fetch a second", async (t) => {
  const { clock, feed, revocations, server, stolen, header, subjectOf } = await setup(t)
  feed.push({ key: 'other' })
  await revocations.poll()
  const before = server.requests.length
  for (let n = 0; n < 180; n++) {
    for (const kid of [`a${n}`, `b${n}`]) await assert.rejects(subjectOf(await header({ ...stolen, kid })), unknownKey)
    clock.advance(500)
  }
  const fetches = server.requests.length - before
  assert.ok(fetches >= 60 && fetches <= 63, `${fetches} fetches in 90 seconds`)
})
