/** What the OpenID Foundation's plan for RP-initiated logout requires of a provider. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redirectParameters, TestBrowser } from '../support/journey.ts'
import { openidParties, type Request } from '../support/openid-parties.ts'

const { ask, running, tokens } = openidParties()

const bye = 'https://app.example/bye'
const logout = (browser: TestBrowser, more: Request) => browser.get(`/end_session?${new URLSearchParams(more)}`)
const isSignedOut = async (browser: TestBrowser) =>
  redirectParameters(await ask({ prompt: 'none' }, browser)).error === 'login_required'
const signIn = async () => {
  const browser = new TestBrowser(running)
  return { browser, id_token_hint: (await tokens({}, browser)).id_token ?? '' }
}

test('a logout with hint, URI and state ends the session and redirects with the state', async () => {
  const { browser, id_token_hint } = await signIn()
  const response = await logout(browser, {
    id_token_hint,
    post_logout_redirect_uri: bye,
    state: 'back',
    ui_locales: 'de',
  })
  assert.equal(response.headers.location, `${bye}?state=back`)
  assert.ok(await isSignedOut(browser))
})

test('a logout without state, URI or hint adds no state, shows a page or asks the user', async () => {
  const first = await signIn()
  const { browser, id_token_hint } = first
  assert.equal((await logout(browser, { id_token_hint, post_logout_redirect_uri: bye })).headers.location, bye)
  const second = await signIn()
  assert.match((await logout(second.browser, { id_token_hint: second.id_token_hint })).text, /Signed out/)
  assert.ok(await isSignedOut(second.browser))
  const third = await signIn()
  const page = await logout(third.browser, {})
  assert.ok(!(await isSignedOut(third.browser)))
  assert.match((await third.browser.submit(page, { decision: 'leave' })).text, /Signed out/)
  assert.ok(await isSignedOut(third.browser))
})

test('an unregistered URI or an altered hint ends nothing and redirects nowhere', async () => {
  const { browser, id_token_hint } = await signIn()
  for (const more of [
    { id_token_hint, post_logout_redirect_uri: 'https://app.example/other' },
    { id_token_hint, post_logout_redirect_uri: `${bye}?foo=bar` },
    { id_token_hint: `${id_token_hint.slice(0, -5)}AAAAA`, post_logout_redirect_uri: bye },
  ]) {
    const response = await logout(browser, more)
    assert.deepEqual([response.status, response.headers.location], [400, undefined])
    assert.ok(!(await isSignedOut(browser)))
  }
})
