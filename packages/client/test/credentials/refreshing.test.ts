import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { call, connect, refreshing, type UserTokens } from '../../src/index.ts'
import { Issuer, invalidToken, issuer, read } from '../support/issuer.ts'
import { json, problem } from '../support/scripted-server.ts'

describe('the tokens of a user', () => {
  const now = Date.UTC(2026, 10, 22)
  /** A store with one lock, as pages of one browser share it. */
  function storeOf(tokens: UserTokens | undefined) {
    let last: Promise<unknown> = Promise.resolve()
    const store = {
      tokens,
      saves: 0,
      load: () => store.tokens,
      save(next: UserTokens) {
        store.tokens = next
        store.saves++
      },
      exclusively<Result>(refresh: () => Promise<Result>): Promise<Result> {
        const next = last.then(refresh, refresh)
        last = next.catch(() => {})
        return next
      },
    }
    return store
  }
  const expired: UserTokens = { accessToken: 't0', refreshToken: 'r0', expiresAt: now + 30_000 }

  test('are refreshed once by two pages that share a store, and saved before they are used', async () => {
    const { server, tokenRequests } = new Issuer()
    const store = storeOf(expired)
    const pages = [1, 2].map(() =>
      connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) })),
    )
    await Promise.all(pages.flatMap((page) => [call(page, read), call(page, read)]))
    assert.deepEqual(
      tokenRequests.map(({ body }) => body),
      ['grant_type=refresh_token&refresh_token=r0&client_id=web'],
    )
    assert.deepEqual(store.tokens, { accessToken: 't1', refreshToken: 'r1', expiresAt: now + 900_000 })
    const used = server.requests.filter(({ url }) => url.host === 'api.example.com')
    assert.deepEqual([...new Set(used.map(({ headers }) => headers.get('authorization')))], ['Bearer t1'])
  })

  test('that are fresh are used as they are, and refreshed when the API refuses them', async () => {
    const { server, tokenRequests } = new Issuer((token) => (token === 'Bearer t0' ? invalidToken() : json(1)))
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    await call(connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) })), read)
    assert.deepEqual([tokenRequests.length, store.saves], [1, 1])
  })

  test('whose new ones were lost on their way are asked for again within the grace of the issuer', async () => {
    const graceMs = 10_000
    for (const expiresAt of [now - 1, now + 600_000]) {
      const issuing = new Issuer()
      const { server, tokenRequests } = issuing
      const store = storeOf({ ...expired, expiresAt })
      const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
      let lost = 0
      issuing.failure = () => {
        issuing.failure = lost++ === 0 ? issuing.failure : undefined
        return 'silent'
      }
      if (expiresAt > now) {
        await call(connection, read)
        await server.clock.advance(560_000)
      }
      // One call, and no other that would ask again.
      assert.equal(await server.clock.settle(call(connection, read)), 1)
      await server.clock.advance(graceMs)
      const [first, ...repeats] = tokenRequests
      assert.ok(repeats.length > 0)
      for (const { at, body } of repeats) {
        assert.ok(at - (first?.at ?? 0) < graceMs, `${at - (first?.at ?? 0)} ms`)
        assert.equal(body, first?.body)
      }
    }
  })

  test('whose new ones come late are saved as they come, from whichever request', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    issuing.delayMs = 6_000
    const store = storeOf({ ...expired, expiresAt: now - 1 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.deepEqual([store.saves, store.tokens?.accessToken, server.clock.now() - now], [1, 't1', 6_000])
    await server.clock.advance(20_000)
    assert.deepEqual(
      tokenRequests.map(({ at }) => at - now),
      [0, 4_000],
    )
    assert.equal(store.saves, 1)
  })

  test('whose new ones were lost behind a proxy are asked for again at once, unless it says when', async () => {
    for (const [headers, count] of [
      [{}, 2],
      [{ 'retry-after': '5' }, 1],
    ] as const) {
      const issuing = new Issuer()
      const { server, tokenRequests } = issuing
      issuing.failure = () => {
        issuing.failure = undefined
        return problem(502, {}, headers)
      }
      const store = storeOf({ ...expired, expiresAt: now - 1 })
      const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
      const called = call(connection, read)
      await server.clock.advance(0)
      assert.equal(tokenRequests.length, count)
      assert.equal(await server.clock.settle(called), 1)
    }
  })

  test('that are due are renewed and saved before a call is over, which waits for 1 s at most', async () => {
    const issuing = new Issuer()
    const { server } = issuing
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    await call(connection, read)
    await server.clock.advance(560_000)
    issuing.delayMs = 900
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.deepEqual([store.saves, server.requests.at(-1)?.headers.get('authorization')], [1, 'Bearer t1'])
    issuing.failure = () => 'silent'
    await server.clock.advance(845_000)
    const at = server.clock.now()
    assert.equal(await server.clock.settle(call(connection, read)), 1)
    assert.equal(server.clock.now() - at, 1_000)
  })

  test('that were stored after a refusal are used at once, whatever Retry-After says', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    const store = storeOf({ ...expired, expiresAt: now - 1 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    issuing.failure = () => problem(429, {}, { 'retry-after': '60' })
    await assert.rejects(call(connection, read), { code: 'rate_limited' })
    store.tokens = { accessToken: 'new', refreshToken: 'r9', expiresAt: now + 900_000 }
    await call(connection, read)
    assert.equal(server.requests.at(-1)?.headers.get('authorization'), 'Bearer new')
    assert.equal(tokenRequests.length, 1)
  })

  const signedOut = { code: 'oauth_failed', error: 'login_required' }
  const others: UserTokens = { accessToken: 'b1', refreshToken: 'rb1', expiresAt: now + 900_000 }
  const bearers = ({ server }: Issuer) =>
    server.requests
      .filter(({ url }) => url.host === 'api.example.com')
      .map(({ headers }) => headers.get('authorization'))

  test('are those of the store at every call: nobody after a sign-out, then the next user', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    await call(connection, read)
    store.tokens = undefined
    await assert.rejects(call(connection, read), signedOut)
    store.tokens = others
    await call(connection, read)
    store.tokens = { accessToken: 'c1', refreshToken: 'rc1', expiresAt: now + 900_000 }
    await call(connection, read)
    assert.deepEqual(bearers(issuing), ['Bearer t0', 'Bearer b1', 'Bearer c1'])
    assert.deepEqual([tokenRequests.length, store.saves], [0, 0])
  })

  test('of the next user that have expired are refreshed once for all calls, by their own token', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    const store = storeOf({ ...expired, expiresAt: now + 600_000 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    await call(connection, read)
    store.tokens = { ...others, expiresAt: now - 1 }
    await Promise.all([1, 2, 3].map(() => call(connection, read)))
    assert.deepEqual(
      tokenRequests.map(({ body }) => body),
      ['grant_type=refresh_token&refresh_token=rb1&client_id=web'],
    )
    assert.deepEqual(bearers(issuing), ['Bearer t0', 'Bearer t1', 'Bearer t1', 'Bearer t1'])
  })

  /** A client whose next call refreshes: waiting for it where the tokens have expired, beside it where they are due. */
  async function aboutToRefresh(state: 'expired' | 'due') {
    const issuing = new Issuer()
    const { server } = issuing
    const store = storeOf({ ...expired, expiresAt: state === 'due' ? now + 600_000 : now - 1 })
    const connection = connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) }))
    if (state === 'due') {
      await call(connection, read)
      await server.clock.advance(560_000)
      server.requests.length = 0
    }
    return { issuing, server, store, connection }
  }

  for (const state of ['expired', 'due'] as const) {
    test(`that are ${state} are not stored again by a refresh under way at a sign-out`, async () => {
      for (const next of [undefined, others]) {
        const { issuing, server, store, connection } = await aboutToRefresh(state)
        issuing.delayMs = 800
        const before = call(connection, read).catch(({ error }) => error)
        await server.clock.advance(300)
        assert.equal(issuing.tokenRequests.length, 1)
        store.tokens = next
        const after = call(connection, read).catch(({ error }) => error)
        await server.clock.advance(0)
        assert.deepEqual(bearers(issuing), next ? ['Bearer b1'] : [], 'the next user waits for nothing')
        for (const result of await server.clock.settle(Promise.all([before, after])))
          assert.equal(result, next ? 1 : 'login_required')
        await server.clock.advance(20_000)
        assert.deepEqual([store.tokens, store.saves], [next, 0])
        assert.deepEqual(bearers(issuing), next ? ['Bearer b1', 'Bearer b1'] : [])
      }
    })

    test(`that are ${state} and refused after a sign-out are no failure of the next user`, async () => {
      for (const next of [undefined, others]) {
        const { issuing, server, store, connection } = await aboutToRefresh(state)
        issuing.failure = () => {
          store.tokens = next
          return json({ error: 'invalid_grant' }, { status: 400 })
        }
        const result = await server.clock.settle(call(connection, read).catch(({ error }) => error))
        assert.equal(result, next ? 1 : 'login_required')
        assert.deepEqual([store.tokens, bearers(issuing)], [next, next ? ['Bearer b1'] : []])
      }
    })
  }

  test('that two pages refresh at once, without a lock, are the same in both and in the store', async () => {
    for (const lifetimeSeconds of [50, 900]) {
      const issuing = new Issuer()
      const { server, tokenRequests } = issuing
      issuing.lifetimeSeconds = lifetimeSeconds
      issuing.delayMs = 500
      const store = storeOf(expired)
      const shared = { load: store.load, save: (next: UserTokens) => store.save(next) }
      const pages = [1, 2].map(() =>
        connect(server.options({ credentials: refreshing(shared, { issuer, clientId: 'web' }) })),
      )
      const both = () => Promise.all(pages.map((page) => call(page, read)))
      await server.clock.settle(both())
      for (let more = 0; more < 3; more++) await server.clock.settle(both())
      assert.equal(tokenRequests.length, 2)
      assert.deepEqual([store.tokens?.accessToken, ...new Set(bearers(issuing))], ['t1', 'Bearer t1'])
    }
  })

  test('that live for less than a minute are not refreshed by two pages in turn, at each call', async () => {
    const issuing = new Issuer()
    const { server, tokenRequests } = issuing
    issuing.lifetimeSeconds = 50
    const store = storeOf(expired)
    const pages = [1, 2].map(() =>
      connect(server.options({ credentials: refreshing(store, { issuer, clientId: 'web' }) })),
    )
    for (let round = 0; round < 3; round++) for (const page of pages) await call(page, read)
    // Either page begins with a refresh, since what it found had less than a minute left.
    assert.equal(tokenRequests.length, 2)
    assert.equal(bearers(issuing).at(-1), 'Bearer t2')
  })

  test('that are not there, or whose family has ended, say so', async () => {
    const issuing = new Issuer()
    const connection = (tokens: UserTokens | undefined) =>
      connect(issuing.server.options({ credentials: refreshing(storeOf(tokens), { issuer, clientId: 'web' }) }))
    await assert.rejects(call(connection(undefined), read), { code: 'oauth_failed', error: 'login_required' })
    issuing.failure = () => json({ error: 'invalid_grant' }, { status: 400 })
    await assert.rejects(call(connection(expired), read), { code: 'oauth_failed', error: 'invalid_grant' })
  })
})
