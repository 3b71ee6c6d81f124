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

  test('that are not there, or whose family has ended, say so', async () => {
    const issuing = new Issuer()
    const connection = (tokens: UserTokens | undefined) =>
      connect(issuing.server.options({ credentials: refreshing(storeOf(tokens), { issuer, clientId: 'web' }) }))
    await assert.rejects(call(connection(undefined), read), { code: 'oauth_failed', error: 'login_required' })
    issuing.failure = () => json({ error: 'invalid_grant' }, { status: 400 })
    await assert.rejects(call(connection(expired), read), { code: 'oauth_failed', error: 'invalid_grant' })
  })
})
