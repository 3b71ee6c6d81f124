import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type OidcFake, startOidc } from '@gatehouse/fakes'
import { authorizeUrl, hiddenFields, pkce, TestBrowser } from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  sentTo,
  setupWith,
  signInAt,
  upstreamClient,
} from '../support/providers.ts'
import type { Running } from '../support/setup.ts'

let provider: OidcFake
let running: Running
before(async () => {
  provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')] })
  running = await setupWith([connectionTo(provider)])
  provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
})
after(async () => {
  await running.close()
  await provider.stop()
})

const requested = (url: URL) => [url.searchParams.get('prompt'), url.searchParams.get('max_age')]

/** A browser whose sign-in is too old for changes, and the way to the provider that a change leads to. */
async function signInAgain(): Promise<{ browser: TestBrowser; address: URL }> {
  running.clock.set(Date.now() - 20 * 60_000)
  const browser = new TestBrowser(running)
  await signInAt(running, browser)
  running.clock.set(Date.now())
  const page = await browser.post('/account/providers', {
    ...hiddenFields(await browser.get('/account/providers')),
    connection: 'acme',
  })
  assert.match(page.text, /action="\/login"/)
  return { browser, address: await choose(browser, page) }
}

const mayChange = async (browser: TestBrowser) => {
  const form = { ...hiddenFields(await browser.get('/account/providers')), connection: 'acme' }
  const { link_id: _link, ...rest } = form as Record<string, string>
  return !(await browser.post('/account/providers', rest)).text.includes('action="/login"')
}

test('a first sign-in may be silent at the provider', async () => {
  const browser = new TestBrowser(running)
  assert.deepEqual(requested(await choose(browser, await browser.get('/account'))), [null, null])
})

test('a sign-in before a change of credentials is a new one at the provider', async () => {
  const { browser, address } = await signInAgain()
  assert.deepEqual(requested(address), ['login', '0'])
  await browser.follow(await browser.get(await followProvider(address)))
  assert.ok(await mayChange(browser))
})

test('whoever removes the question from the address gets no recent sign-in', async () => {
  for (const change of [
    (url: URL) => {
      url.searchParams.delete('prompt')
      url.searchParams.delete('max_age')
    },
    (url: URL) => {
      url.searchParams.delete('prompt')
      url.searchParams.set('max_age', '86400')
    },
    (url: URL) => url.searchParams.delete('max_age'),
  ]) {
    const { browser, address } = await signInAgain()
    change(address)
    assert.equal((await browser.get(await followProvider(address))).status, 400, String(change))
    assert.equal(await mayChange(browser), false)
  }
})

test('a provider that does not say when its user signed in is not believed', async () => {
  const { browser, address } = await signInAgain()
  provider.misbehaviour = 'no_auth_time'
  assert.equal((await browser.get(await followProvider(address))).status, 400)
  provider.misbehaviour = undefined
  assert.equal(await mayChange(browser), false)
})

test('a client’s prompt and max_age reach the provider; prompt=none never leads there', async () => {
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }
  for (const [more, wanted] of [
    [{}, [null, null]],
    [{ prompt: 'consent' }, [null, null]],
    [{ prompt: 'login consent' }, ['login', '0']],
    [{ max_age: '60' }, ['login', '0']],
  ] as const) {
    const browser = new TestBrowser(running)
    const page = await browser.get(authorizeUrl({ ...request, ...more }))
    const response = await browser.post('/login/providers', { ...hiddenFields(page), connection: 'acme' })
    assert.deepEqual(requested(sentTo(response)), wanted, JSON.stringify(more))
  }
  const silent = await new TestBrowser(running).get(authorizeUrl({ ...request, prompt: 'none' }))
  assert.match(String(silent.headers.location), /error=login_required/)
})
