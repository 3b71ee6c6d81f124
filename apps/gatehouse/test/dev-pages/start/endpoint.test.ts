import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createHttp, type Http, Secret, silentLog } from '@gatehouse/kit'
import { createDevSite } from '../../../src/dev-pages/site.ts'
import type { CallCredential } from '../../../src/dev-pages/start/calls.ts'
import { startPagePlugin } from '../../../src/dev-pages/start/endpoint.ts'

const host = 'localhost:8080'

async function startServer(credential: CallCredential | undefined, renewSecret?: () => Promise<Secret>) {
  const http = createHttp({ log: silentLog })
  const plugin = startPagePlugin({
    site: createDevSite(
      { start: true, mailbox: true, inbox: true, account: '/account', console: '/console' },
      undefined,
    ),
    branding: { name: 'Acme <b>', colour: '#123456' },
    urls: [],
    credential,
    renewSecret,
    running: async () => ({
      version: '1.2.3',
      services: ['identity', 'notify', 'gateway'],
      elsewhere: {},
      baseUrl: `http://${host}`,
      authUrl: `http://${host}`,
      metricsUrl: `http://${host}/metrics`,
      database: 'a folder',
      counters: 'in memory',
      engines: { database: 'ok', topic: 'does not answer' },
    }),
  })
  await http.register((scope) => plugin(scope as Http))
  const ask = (method: 'GET' | 'POST', url: string, headers: Record<string, string> = {}) =>
    http.inject({ method, url, headers: { host, accept: 'text/html', ...headers } })
  const page = async (headers = {}) => (await ask('GET', '/', headers)).body
  return { ask, page }
}

describe('the start page', () => {
  test('names what runs, in the look of the configuration, with links to what is there', async () => {
    const { page, ask } = await startServer(undefined)
    const text = await page()
    assert.match(text, /Acme &lt;b&gt;/)
    assert.match(text, /An engine does not answer/)
    for (const path of ['/console', '/dev/mailbox', '/dev/inbox', '/docs', '/account'])
      assert.ok(text.includes(`<a class="panel" href="${path}">`), path)
    assert.doesNotMatch(text, /curl/, 'no calls to what the file no longer declares')
    assert.match((await ask('GET', '/dev/assets/style.css')).body, /--accent: #123456/)
    const german = await page({ 'accept-language': 'de-CH, en;q=0.5' })
    assert.match(german, /Ein Speicher antwortet nicht/)
    assert.doesNotMatch(german, />(start|site)\.[\w.]+</, 'every text is there')
  })

  test('its calls carry the key of the start where there is no identity', async () => {
    const { page } = await startServer({ kind: 'key', key: new Secret('gk_here') })
    assert.match(await page(), /KEY=gk_here.*X-API-Key: \$KEY/s)
  })

  test('a secret that is no longer known is replaced, once for requests at the same time', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let made = 0
    const { page, ask } = await startServer({ kind: 'client', secret: undefined }, async () => {
      await promise
      made++
      return new Secret(`new-${made}`)
    })
    assert.match(await page(), /action="\/dev\/start\/secret".*demo:THE-SECRET-SHOWN-AT-THE-FIRST-RUN/s)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const posts = [ask('POST', '/dev/start/secret', form), ask('POST', '/dev/start/secret', form)]
    resolve()
    for (const { statusCode } of await Promise.all(posts)) assert.equal(statusCode, 303)
    assert.equal(made, 1)
    const text = await page()
    assert.match(text, /demo:new-1/)
    assert.doesNotMatch(text, /action="\/dev\/start\/secret"/)
    assert.doesNotMatch((await ask('GET', '/', { accept: '*/*' })).body, /new-1/, 'data has no secret')
  })

  test('answers nobody through another name, and takes nothing from other sites', async () => {
    const { ask } = await startServer({ kind: 'client', secret: new Secret('known') }, async () => new Secret('new'))
    for (const url of ['/', '/dev/assets/style.css'])
      assert.equal((await ask('GET', url, { host: 'evil.example' })).statusCode, 403, url)
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    assert.equal((await ask('POST', '/dev/start/secret', foreign)).statusCode, 403)
    for (const file of ['..%2Fsite.ts', 'missing.css', 'site.ts'])
      assert.ok((await ask('GET', `/dev/assets/${file}`)).statusCode >= 400, file)
  })
})
