import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createMetrics, Secret, silentLog } from '@gatehouse/kit'
import { deliverOutbox } from '../../../src/background/outbox.ts'
import { fetchLogo } from '../../../src/clients/logo/fetch.ts'
import { createContext } from '../../../src/context/create.ts'
import { registrationOf } from '../../../src/model/client.ts'
import { postgresIdentityStore } from '../../../src/postgres/index.ts'
import { jpegOf, pngOf } from '../../support/images.ts'
import { authorizeUrl, clients, pkce, TestBrowser, users } from '../../support/journey.ts'
import { issuer, setup, type TestResponse } from '../../support/setup.ts'

const encryptionKey = new Secret('0123456789abcdef0123456789abcdef')

async function startServer(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Identity whose client has this logo_uri; `deliver` does what its worker does, `consentPage` what a user sees. */
async function withLogo(context: TestContext, logo_uri: string, { loopbackCalls = true } = {}) {
  const declared = { clients: [{ ...clients[0], client_id: 'web', logo_uri }], users }
  const features = { loopbackCalls }
  const running = await setup({ declared, features, background: false })
  context.after(() => running.close())
  const store = postgresIdentityStore(running.database)
  const { clock } = running
  const inner = createContext(
    {
      ...{ store, issuer, baseUrl: issuer, encryptionKey, features, clock, log: silentLog },
      ...{ metrics: createMetrics(), authenticate: () => assert.fail() },
    },
    () => {},
  )
  return {
    running,
    store,
    fetch: () => fetchLogo(inner, 'web'),
    deliver: () => deliverOutbox({ context: inner, notify: undefined, onRecipient: undefined }, 'calls'),
    async consentPage(): Promise<TestResponse> {
      const browser = new TestBrowser(running)
      const { code_challenge } = pkce()
      const request = { client_id: 'web', response_type: 'code', scope: 'openid', prompt: 'consent', code_challenge }
      const page = await browser.signIn(await browser.get(authorizeUrl({ ...request, code_challenge_method: 'S256' })))
      assert.match(page.text, /action="\/consent"/)
      const allowed = await browser.submit(page, { decision: 'allow' })
      assert.match(allowed.headers.location ?? '', /[?&]code=/)
      return page
    },
  }
}

const logoOf = (page: TestResponse) => /<img class="logo" src="([^"]+)" alt="">/.exec(page.text)?.[1]

test('the logo of a declared client is fetched once and served from this origin', async (context) => {
  let requests = 0
  const image = pngOf(64, 64)
  const origin = await startServer(context, (_request, response) => {
    requests++
    response.setHeader('content-type', 'text/html').end(image)
  })
  const { running, fetch, deliver, consentPage } = await withLogo(context, `${origin}/logo`)
  assert.equal(logoOf(await consentPage()), undefined, 'not fetched yet')
  await deliver()
  const page = await consentPage()
  const path = logoOf(page) ?? assert.fail(page.text)
  assert.match(path, /^\/pages\/logos\/[\w-]{43}$/)
  assert.ok(!page.text.includes(origin))
  assert.match(String(page.headers['content-security-policy']), /img-src 'self';/)
  const { statusCode, headers, rawPayload } = await running.http.inject(path)
  assert.deepEqual([statusCode, headers['content-type'], rawPayload], [200, 'image/png', image])
  assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox")
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  await deliver()
  await fetch()
  assert.equal(requests, 1)
  const { rows } = await running.database.query("SELECT 1 FROM identity.outbox WHERE kind = 'logo'")
  assert.equal(rows.length, 0)
})

test('a changed logo_uri replaces the logo, and a removed one or client deletes it', async (context) => {
  const origin = await startServer(context, ({ url }, response) => {
    response.end(url === '/old' ? pngOf(16, 16) : jpegOf(16, 16))
  })
  const { running, store, fetch } = await withLogo(context, `${origin}/old`)
  await fetch()
  const stored = async (): Promise<unknown[]> =>
    (await running.database.query<{ uri: string }>('SELECT uri FROM identity.client_logo')).rows.map(({ uri }) => uri)
  assert.deepEqual(await stored(), [`${origin}/old`])
  const change = async (logoUri?: string) => {
    const client = (await store.clients.find('web')) ?? assert.fail()
    const expected = registrationOf(client)
    const { logoUri: _, ...others } = expected.metadata
    const metadata = { ...others, ...(logoUri === undefined ? {} : { logoUri }) }
    const next = { id: 'web', plan: expected.plan, metadata, secretHashes: undefined }
    assert.equal(await store.clients.update(next, expected, 0), 'changed')
  }
  await change(`${origin}/new`)
  assert.deepEqual(await stored(), [])
  const logo = { hash: 'h', mediaType: 'image/png', content: pngOf(1, 1) }
  assert.equal(await store.clientLogos.put('web', `${origin}/old`, logo, 0), false, 'a late fetch of the old address')
  await fetch()
  assert.deepEqual(await stored(), [`${origin}/new`])
  await change()
  assert.deepEqual(await stored(), [])
  await change(`${origin}/new`)
  await fetch()
  await running.database.query("DELETE FROM identity.subject WHERE id = 'web'")
  assert.deepEqual(await stored(), [])
})

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>fetch("https://evil.example")</script></svg>'

for (const [what, type, content] of [
  ['an SVG with a script', 'image/svg+xml', svg],
  ['an SVG that claims to be a PNG', 'image/png', svg],
  ['a page', 'image/png', '<!doctype html><script>alert(1)</script>'],
  ['an image of 100,000 pixels each way', 'image/png', pngOf(100_000, 100_000)],
  ['nothing', 'image/png', ''],
] as const)
  test(`${what} is refused as a logo for good, and consent goes on without`, async (context) => {
    let requests = 0
    const origin = await startServer(context, (_request, response) => {
      requests++
      response.setHeader('content-type', type).end(content)
    })
    const { running, deliver, consentPage } = await withLogo(context, `${origin}/logo`)
    await deliver()
    running.clock.advance(60_000)
    await deliver()
    assert.equal(requests, 1)
    assert.equal(logoOf(await consentPage()), undefined)
  })

test('a response of 100 MB is cut off at 64 KiB', async (context) => {
  let sent = 0
  const block = Buffer.concat([pngOf(16, 16), Buffer.alloc(64 * 1024)])
  function* blocks() {
    for (; sent < 100 * 1024 * 1024; sent += block.length) yield block
  }
  const origin = await startServer(context, (_request, response) => {
    pipeline(Readable.from(blocks()), response, () => {})
  })
  const { fetch, consentPage } = await withLogo(context, `${origin}/logo`)
  await assert.rejects(fetch(), /larger than 65536 bytes/)
  assert.equal(logoOf(await consentPage()), undefined)
  assert.ok(sent < 50 * 1024 * 1024, `${sent} bytes`)
})

test('a redirect is not followed, and no status but 200 counts', async (context) => {
  const paths: (string | undefined)[] = []
  const origin = await startServer(context, ({ url }, response) => {
    paths.push(url)
    if (url === '/redirect') response.writeHead(302, { location: '/logo' }).end()
    else response.writeHead(url === '/logo' ? 200 : 404).end(pngOf(16, 16))
  })
  for (const path of ['/redirect', '/missing']) {
    const { fetch, consentPage } = await withLogo(context, origin + path)
    await assert.rejects(fetch(), /200 was expected/)
    assert.equal(logoOf(await consentPage()), undefined)
  }
  assert.deepEqual(paths, ['/redirect', '/missing'])
})

test('internal addresses are not requested for a logo', async (context) => {
  let requests = 0
  const origin = await startServer(context, (_request, response) => {
    requests++
    response.end(pngOf(16, 16))
  })
  const internal = `https://[::ffff:127.0.0.1]:${new URL(origin).port}/logo`
  for (const uri of [`${origin}/logo`, internal, 'https://169.254.169.254/latest/meta-data/']) {
    const { fetch, consentPage } = await withLogo(context, uri, { loopbackCalls: false })
    await assert.rejects(fetch(), /is not allowed|in a blocked network/, uri)
    assert.equal(logoOf(await consentPage()), undefined)
  }
  assert.equal(requests, 0)
})

test('a server that answers slowly delays no consent page, and is requested again later', async (context) => {
  const received = Promise.withResolvers<() => void>()
  let isSlow = true
  const origin = await startServer(context, (request, response) => {
    if (!isSlow) return void response.end(pngOf(16, 16))
    response.writeHead(200).write(pngOf(16, 16).subarray(0, 10))
    received.resolve(() => request.socket.destroy())
  })
  const { running, deliver, consentPage } = await withLogo(context, `${origin}/logo`)
  const delivering = deliver()
  const hangUp = await received.promise
  assert.equal(logoOf(await consentPage()), undefined)
  hangUp()
  await delivering
  isSlow = false
  running.clock.advance(2_000)
  await deliver()
  assert.ok(logoOf(await consentPage()))
})
