import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter, definePolicy } from '@gatehouse/limiter'
import { limitFetch } from '@gatehouse/limiter/fetch'

const policy = definePolicy('fetch', [{ name: 'fetch', limit: 1, windowMs: 60_000 }])

/** A handler behind a limit of one request a minute. */
function limited(handler: () => Response): () => Promise<Response> {
  const identify = () => ({ kind: 'user', id: 'alice' })
  const handle = limitFetch({ limiter: createLimiter(), policy, identify }, handler)
  return () => handle(new Request('http://localhost/'))
}

/** A response of a status that no constructor creates, as runtimes make for WebSockets and for what was fetched. */
function responseOf(status: number): Response {
  return Object.defineProperty(new Response(null), 'status', { value: status })
}

for (const [what, response] of [
  ['a network error', Response.error()],
  ['an upgrade to a WebSocket', responseOf(101)],
  ['a fetched response of status 999', responseOf(999)],
] as const)
  test(`${what} is returned as it is, and counts`, async () => {
    const ask = limited(() => response)
    assert.equal(await ask(), response)
    assert.equal((await ask()).status, 429)
  })

test('the headers of a limit are added to a response whose own are immutable', async () => {
  const ask = limited(() => Response.redirect('http://localhost/there', 302))
  const { status, headers } = await ask()
  const shown = ['location', 'x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => headers.get(name))
  assert.deepEqual([status, ...shown], [302, 'http://localhost/there', '1', '0'])
})
