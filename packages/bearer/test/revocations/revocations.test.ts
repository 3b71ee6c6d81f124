import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  createRevocations,
  createRevocationsReader,
  type RevocationPage,
  type RevocationsOptions,
} from '../../src/index.ts'
import { manualClock, type ReceivedRequest, setup, startServer } from '../support/issuer.ts'

/** A feed that is a list, two revocations a page, and a bearer check that follows it. */
async function setupFeed(options: Partial<RevocationsOptions> = {}) {
  const feed: object[] = []
  const alarms: number[] = []
  const clock = manualClock()
  const read = async (after: string | undefined): Promise<RevocationPage> => {
    const from = Number(after ?? 0)
    const revocations = feed.slice(from, from + 2)
    return { revocations, next: `${from + revocations.length}` }
  }
  const observer = { revocationsFailed: (failed: { staleMs: number }) => alarms.push(failed.staleMs) }
  const revocations = createRevocations({ read, clock, steadyClock: clock, observer, ...options })
  const issuer = await setup({ revocations, clock })
  await issuer.bearer.prefetch()
  const subjectOf = async (header: string) => (await issuer.bearer.authenticate(header)).subject
  const token = (claims: object = {}) =>
    issuer.token({ iat: clock.now() / 1000, exp: clock.now() / 1000 + 900, ...claims })
  return { feed, alarms, clock, revocations, subjectOf, token }
}

const revoked = { code: 'invalid_token', reason: 'revoked' }

test('a revoked grant ends its tokens at the next poll, cached ones too, and no others', async () => {
  const { feed, revocations, subjectOf, token } = await setupFeed()
  const ended = `Bearer ${await token({ grant_id: 'g1' })}`
  const kept = `Bearer ${await token({ grant_id: 'g2' })}`
  await subjectOf(ended)
  feed.push({ grant: 'g0' }, { grant: 'other' }, { grant: 'g1' })
  await revocations.poll()
  await assert.rejects(subjectOf(ended), revoked)
  assert.equal(await subjectOf(kept), 'alice')
})

test('revoking a subject ends the tokens issued before, not those issued after', async () => {
  const { feed, revocations, subjectOf, token, clock } = await setupFeed()
  const old = `Bearer ${await token()}`
  const bobs = `Bearer ${await token({ sub: 'bob' })}`
  clock.advance(1_000)
  feed.push({ subject: 'alice', before: clock.now() / 1000 })
  await revocations.poll()
  await assert.rejects(subjectOf(old), revoked)
  assert.equal(await subjectOf(bobs), 'bob')
  assert.equal(await subjectOf(`Bearer ${await token()}`), 'alice')
})

test('an older revocation of a subject that arrives late changes nothing', async () => {
  const { feed, revocations, subjectOf, token, clock } = await setupFeed()
  const header = `Bearer ${await token()}`
  feed.push({ subject: 'alice', before: clock.now() / 1000 + 1 }, { subject: 'alice', before: 0 })
  await revocations.poll()
  await assert.rejects(subjectOf(header), revoked)
})

test('revoking a client ends its tokens for all users, and those without iat', async () => {
  const { feed, revocations, subjectOf, token, clock } = await setupFeed()
  feed.push({ client: 'shop', before: clock.now() / 1000 + 1 })
  await revocations.poll()
  await assert.rejects(subjectOf(`Bearer ${await token()}`), revoked)
  await assert.rejects(subjectOf(`Bearer ${await token({ sub: 'bob' })}`), revoked)
  clock.advance(5_000)
  await assert.rejects(subjectOf(`Bearer ${await token({ iat: undefined })}`), revoked)
  assert.equal(await subjectOf(`Bearer ${await token({ client_id: 'other' })}`), 'alice')
})

test('a feed that cannot be read is reported each time, and requests are still accepted', async () => {
  let down = true
  const page = { revocations: [{ grant: 'grant-1' }], next: '1' }
  const read = async (after: string | undefined) => {
    if (down) throw new Error('down')
    return after === undefined ? page : { revocations: [], next: after }
  }
  const { alarms, clock, revocations, subjectOf, token } = await setupFeed({ read })
  const header = `Bearer ${await token()}`
  await revocations.poll()
  clock.advance(2_000)
  await revocations.poll()
  assert.deepEqual(alarms, [0, 2_000])
  assert.equal(await subjectOf(header), 'alice')
  down = false
  await revocations.poll()
  await assert.rejects(subjectOf(header), revoked)
  assert.equal(alarms.length, 2)
})

test('unknown entries of the feed are reported, and the others are applied', async () => {
  const { feed, alarms, revocations, subjectOf, token } = await setupFeed()
  feed.push({ planet: 'mars' }, { subject: 'bob' }, { grant: 'grant-1' })
  await revocations.poll()
  assert.equal(alarms.length, 1)
  await assert.rejects(subjectOf(`Bearer ${await token()}`), revoked)
})

test('revocations are dropped when every token that they cover has expired', async () => {
  const { feed, clock, revocations, subjectOf, token } = await setupFeed({ keepForSeconds: 60 })
  feed.push({ grant: 'grant-1' })
  await revocations.poll()
  clock.advance(59_999)
  await revocations.poll()
  await assert.rejects(subjectOf(`Bearer ${await token()}`), revoked)
  clock.advance(1)
  await revocations.poll()
  assert.equal(await subjectOf(`Bearer ${await token()}`), 'alice')
})

test('a clock that jumps two hours ahead and back makes no revoked token valid again', async () => {
  const { feed, clock, revocations, subjectOf, token } = await setupFeed({ steadyClock: { now: () => 0 } })
  const header = `Bearer ${await token()}`
  feed.push({ grant: 'grant-1' })
  await revocations.poll()
  for (const hours of [2, -2]) {
    clock.advance(hours * 3_600_000)
    await revocations.poll()
  }
  await assert.rejects(subjectOf(header), revoked)
})

test('a token issued while the clock was ahead stays revoked until it expires', async () => {
  const steadyClock = manualClock(0)
  const { feed, clock, revocations, subjectOf, token } = await setupFeed({ steadyClock, keepForSeconds: 60 })
  const header = `Bearer ${await token({ iat: clock.now() / 1000, exp: clock.now() / 1000 + 3_660 })}`
  clock.advance(3_600_000)
  feed.push({ grant: 'grant-1' })
  await revocations.poll()
  clock.advance(-3_600_000)
  steadyClock.advance(60_000)
  await revocations.poll()
  await assert.rejects(subjectOf(header), revoked)
})

test('start polls at once and then every second, one poll at a time, until stopped', async () => {
  const ticks: (() => void)[] = []
  const periods: number[] = []
  let stopped = false
  let reads = 0
  const { revocations } = await setupFeed({
    read: async () => {
      reads += 1
      return { revocations: [], next: '' }
    },
  })
  const stop = revocations.start((periodMs, tick) => {
    periods.push(periodMs)
    ticks.push(tick)
    return () => {
      stopped = true
    }
  })
  ticks[0]?.()
  await revocations.poll()
  assert.deepEqual([periods, reads], [[1_000], 1])
  ticks[0]?.()
  await revocations.poll()
  assert.equal(reads, 2)
  stop()
  assert.ok(stopped)
})

async function setupHttp(t: TestContext, answer: (request: ReceivedRequest) => { status?: number; body?: unknown }) {
  const server = await startServer(answer)
  t.after(server.close)
  const discarded: string[] = []
  const token = { current: async () => 'service', discard: (refused: string) => discarded.push(refused) }
  const read = createRevocationsReader({ url: `${server.origin}/revocations`, token })
  return { server, discarded, read }
}

test('the feed is read with a service token and the cursor of the last page', async (t) => {
  const { server, read } = await setupHttp(t, () => ({ body: { revocations: [{ grant: 'g' }], next: 'a&b' } }))
  assert.deepEqual(await read(undefined), { revocations: [{ grant: 'g' }], next: 'a&b' })
  await read('a&b')
  assert.deepEqual(
    server.requests.map(({ path, headers }) => [path, headers.authorization]),
    [
      ['/revocations', 'Bearer service'],
      ['/revocations?after=a%26b', 'Bearer service'],
    ],
  )
})

test('a cursor that the feed no longer knows restarts the read', async (t) => {
  const { server, read } = await setupHttp(t, ({ path }) =>
    path.includes('after=old') ? { status: 410 } : { body: { revocations: [], next: 'old' } },
  )
  const failures: unknown[] = []
  const revocations = createRevocations({ read, observer: { revocationsFailed: ({ cause }) => failures.push(cause) } })
  await revocations.poll()
  await revocations.poll()
  assert.deepEqual(failures, [])
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/revocations', '/revocations?after=old', '/revocations'],
  )
})

test('a feed that went back is read from its beginning, and what was read before is kept', async () => {
  const feed: object[] = [{ grant: 'g1' }, { grant: 'g2' }]
  const { revocations, subjectOf, token } = await setupFeed({
    read: async (after) => {
      const from = Number(after ?? 0)
      return from > feed.length ? undefined : { revocations: feed.slice(from), next: `${feed.length}` }
    },
  })
  const [lost, revokedAfter] = [
    `Bearer ${await token({ grant_id: 'g2' })}`,
    `Bearer ${await token({ grant_id: 'g3' })}`,
  ]
  await revocations.poll()
  feed.pop()
  await revocations.poll()
  assert.equal(await subjectOf(revokedAfter), 'alice')
  feed.push({ grant: 'g3' })
  await revocations.poll()
  await assert.rejects(subjectOf(lost), revoked)
  await assert.rejects(subjectOf(revokedAfter), revoked)
})

test('a service token that the feed refuses is discarded', async (t) => {
  const { discarded, read } = await setupHttp(t, () => ({ status: 401 }))
  await assert.rejects(read(undefined), /answered 401/)
  assert.deepEqual(discarded, ['service'])
})

for (const body of ['', '[]', '{}', '{"revocations":{},"next":"1"}', '{"revocations":[1],"next":"1"}', 'not json']) {
  test(`a feed that answers ${JSON.stringify(body)} is reported as unreadable`, async (t) => {
    const { read } = await setupHttp(t, () => ({ body }))
    await assert.rejects(read(undefined))
  })
}
