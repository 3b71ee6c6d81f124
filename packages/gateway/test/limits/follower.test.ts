import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '@gatehouse/kit'
import { followLimits, type LimitFeed, type LimitReport } from '../../src/index.ts'
import { setup } from '../support/setup.ts'

const document = (rpm: number, more: object = {}) => ({
  tiers: { free: { rpm } },
  policies: { search: { rpm: 3 } },
  ...more,
})
const feed = (version: number, stored: unknown, more: Partial<LimitFeed> = {}): LimitFeed => ({
  version,
  etag: `"${version}"`,
  document: stored,
  overrides: [],
  clients: [],
  ...more,
})

/** A gateway that follows what the test stores. */
async function following(context: TestContext, first: LimitFeed = feed(0, undefined)) {
  const bench = await setup({
    tiers: { free: { rpm: 5 } },
    policies: { search: { rpm: 2 } },
    routes: [{ path: '/open', policy: 'search' }],
  })
  let stored: LimitFeed | Error = first
  const reports: LimitReport[] = []
  const follower = followLimits({
    source: {
      async read(etag) {
        if (stored instanceof Error) throw stored
        return stored.etag === etag ? undefined : stored
      },
      report: async (report) => void reports.push(report),
    },
    apply: ({ tiers, policies }) => bench.gateway.reload({ tiers, policies }),
    setOverrides: bench.gateway.setOverrides,
    setClientPolicies: bench.gateway.setClientPolicies,
    log: silentLog,
  })
  context.after(() => follower.stop())
  await follower.started
  const limit = async () =>
    Number((await bench.http.inject({ url: '/whoami', headers: bench.bearer() })).headers['x-ratelimit-limit'])
  const store = async (next: LimitFeed | Error) => {
    stored = next
    await follower.refresh()
    return limit()
  }
  return { bench, follower, reports, limit, store }
}

test('where nothing is stored the file applies', async (context) => {
  const { follower, limit } = await following(context)
  assert.equal(follower.hasStored, false)
  assert.equal(await limit(), 5)
})

test('a gateway that starts after an edit applies it before it serves', async (context) => {
  const { limit } = await following(context, feed(4, document(7)))
  assert.equal(await limit(), 7)
})

test('a stored version applies without a restart, and is reported', async (context) => {
  const { follower, reports, store } = await following(context)
  assert.equal(await store(feed(1, document(7))), 7)
  assert.equal(follower.hasStored, true)
  assert.equal(await store(feed(2, document(8))), 8)
  assert.deepEqual(reports.at(-1), { version: 2 })
})

test('while identity is away, what was read last stays; afterwards the newest applies', async (context) => {
  const { store } = await following(context)
  assert.equal(await store(feed(1, document(7))), 7)
  assert.equal(await store(new Error('connect ECONNREFUSED')), 7)
  assert.equal(await store(feed(5, document(9))), 9)
})

test('a version that cannot apply here changes nothing, and the reason is reported', async (context) => {
  const { reports, store } = await following(context)
  await store(feed(1, document(7)))
  const noSearch = { tiers: { free: { rpm: 9 } }, policies: { other: { rpm: 1 } } }
  assert.equal(await store(feed(2, noSearch)), 7)
  assert.equal(reports.at(-1)?.version, 1)
  assert.match(reports.at(-1)?.fault ?? '', /route \/open: there is no policy "search"/)
  assert.equal(await store(feed(3, document(4))), 4)
  assert.deepEqual(reports.at(-1), { version: 3 })
})

for (const [what, stored] of [
  ['half of a document', { tiers: { free: { rpm: 9 } } }],
  ['an unknown member', document(9, { later: true })],
  ['a limit of zero', document(0)],
  ['a text', 'tiers'],
] as const)
  test(`a version never applies in part: ${what}`, async (context) => {
    const { reports, store } = await following(context)
    await store(feed(1, document(7)))
    assert.equal(await store(feed(2, stored)), 7)
    assert.match(reports.at(-1)?.fault ?? '', /the stored limits/)
  })

test('overrides are followed without a new version', async (context) => {
  const { bench, store } = await following(context)
  const until = bench.clock.now() + 1_000
  const overrides = [{ kind: 'user', id: 'u1', factor: 3, until }]
  assert.equal(await store(feed(1, document(7), { etag: '"a"', overrides })), 21)
  assert.equal(await store(feed(1, document(7), { etag: '"b"' })), 7)
})

test('policies of clients are followed, whatever version applies, and end again', async (context) => {
  const { store } = await following(context)
  const bound = [{ client: 'web', policy: 'search' }]
  assert.equal(await store(feed(0, undefined, { etag: '"a"', clients: bound })), 2)
  assert.equal(await store(feed(1, document(7), { clients: bound })), 3)
  assert.equal(await store(feed(1, document(7), { etag: '"b"' })), 7)
})
