import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startPostgres, startRedis, testWith } from '@gatehouse/testing'
import { demoToken } from '../support/demo-client.ts'
import { type Program, started } from '../support/program.ts'

describe('a running program', () => {
  let program: Program
  before(async () => {
    program = await started({ metrics: true })
  })
  after(() => program.stop())
  const get = (path: string) => fetch(`${program.url}${path}`)

  test('is alive, ready, and names the engines that it uses', async () => {
    assert.deepEqual(await (await get('/healthz')).json(), { status: 'ok' })
    const ready = await get('/readyz')
    assert.equal(ready.status, 200)
    assert.deepEqual(await ready.json(), { status: 'ready', engines: { database: 'ok' } })
  })

  test('shows metrics in the Prometheus format, the limiter’s and identity’s among them', async () => {
    await get('/v1/nothing')
    const token = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'nobody', client_secret: 'x' })
    await fetch(`${program.url}/token`, { method: 'POST', body: token })
    const metrics = await fetch(program.metricsUrl)
    assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/)
    const text = await metrics.text()
    assert.match(text, /^rate_limit_allowed_total\{[^}]*\} [1-9]/m)
    assert.match(text, /^identity_token_errors_total\{error="invalid_client"\} 1$/m)
    assert.match(text, /^identity_signing_key_age_seconds\{alg="ES256"\} \d/m)
    assert.match(text, /^process_resident_memory_bytes \d/m)
  })

  test('shows metrics on their own listener alone where there is one, and nothing else there', async () => {
    assert.equal((await get('/metrics')).status, 404)
    assert.equal((await fetch(new URL('/healthz', program.metricsUrl))).status, 404)
    assert.ok(program.stdout().includes(program.metricsUrl))
  })

  test('describes every endpoint in one OpenAPI document', async () => {
    const document = (await (await get('/openapi.json')).json()) as { openapi: string; paths: Record<string, object> }
    assert.equal(document.openapi, '3.1.0')
    for (const path of [
      '/token',
      '/users/{id}',
      '/v1/notify',
      '/v1/notifications/{id}',
      '/healthz',
      '/admin/v1/users',
      '/admin/v1/limits',
      '/admin/v1/limits/{policy}/{kind}/{id}',
      '/.well-known/gatehouse-context.json',
    ]) {
      assert.ok(path in document.paths, `${path} is described`)
    }
  })

  test('has a readable API page that loads nothing from elsewhere', async () => {
    const page = await get('/docs')
    const html = await page.text()
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.ok(!/(?:src|href)="https?:/.test(html), html)
    const script = await fetch(`${program.url}/docs/scalar.js`)
    assert.match(await script.text(), /createApiReference/)
    const again = { 'if-none-match': script.headers.get('etag') ?? '' }
    assert.equal((await fetch(`${program.url}/docs/scalar.js`, { headers: again })).status, 304)
  })

  test('does not count what monitors and key lookups ask for', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/.well-known/jwks.json',
      '/.well-known/openid-configuration',
    ]) {
      const answer = await get(path)
      await answer.text()
      assert.equal(answer.status, 200, path)
      assert.equal(answer.headers.get('x-ratelimit-limit'), null, path)
    }
  })

  test('answers an unknown path with a problem and a request id that can be found in the log', async () => {
    const answer = await get('/nowhere')
    const problem = (await answer.json()) as { status: number; request_id: string }
    assert.equal(problem.status, 404)
    assert.equal(answer.headers.get('x-request-id'), problem.request_id)
  })
})

test('without a listener of their own, metrics are for callers with the scope read:metrics', async () => {
  const program = await started()
  try {
    const ask = async (scope?: string) => {
      const token = await demoToken(program, scope)
      return fetch(`${program.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    }
    assert.equal((await fetch(`${program.url}/metrics`)).status, 401)
    assert.equal((await ask('read:users')).status, 403)
    assert.match(await (await ask()).text(), /^process_resident_memory_bytes \d/m)
  } finally {
    await program.stop()
  }
})

testWith('postgresql', 'readyz answers 503 and names the database when it is gone', async () => {
  const server = await startPostgres()
  const env = {
    DATABASE_URL: server.url,
    ENCRYPTION_KEY: 'zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G',
    SMTP_URL: 'smtp://127.0.0.1:9',
  }
  const program = await started({ env })
  try {
    // A kept connection may be closed while the server takes its time to stop.
    const headers = { connection: 'close' }
    assert.equal((await fetch(`${program.url}/readyz`, { headers })).status, 200)
    await server.stop()
    const answer = await fetch(`${program.url}/readyz`)
    assert.equal(answer.status, 503)
    assert.deepEqual(await answer.json(), { status: 'unavailable', engines: { database: 'does not answer' } })
    assert.equal((await fetch(`${program.url}/healthz`)).status, 200)
  } finally {
    await program.stop()
  }
})

testWith(
  'redis-server',
  'readyz names the counter store when it is gone, and requests are still answered',
  async () => {
    const server = await startRedis()
    const program = await started({ env: { REDIS_URL: server.url } })
    try {
      assert.equal((await fetch(`${program.url}/anything`)).headers.get('x-ratelimit-limit'), '60')
      await server.stop()
      const answer = await fetch(`${program.url}/readyz`)
      assert.deepEqual(
        [answer.status, await answer.json()],
        [200, { status: 'degraded', engines: { database: 'ok', counters: 'does not answer' } }],
      )
      assert.equal((await fetch(`${program.url}/anything`)).status, 404)
    } finally {
      await program.stop()
    }
  },
)
