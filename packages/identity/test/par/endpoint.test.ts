import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorizeUrl, callback, clients, pkce, redirectParameters, TestBrowser, users } from '../support/journey.ts'
import { setupOnce } from '../support/setup.ts'

const secret = { client_id: 'strict', client_secret: 'strict-secret-0123456789' }
const strict = {
  ...secret,
  redirect_uris: [callback],
  scopes: ['openid'],
  require_pushed_authorization_requests: true,
}
const plain = () => ({ client_id: 'strict', response_type: 'code', scope: 'openid', ...challenge() })
const challenge = () => ({ code_challenge: pkce().code_challenge, code_challenge_method: 'S256' })

const running = setupOnce({ declared: { clients: [...clients, strict], users } })

async function push(further: Record<string, string> = {}): Promise<string> {
  const { client_id: _, ...request } = plain()
  const { status, text, body } = await running.post('/par', { ...secret, ...request, state: 'pushed', ...further })
  assert.equal(status, 201, text)
  return String(body.request_uri)
}

test('a client that must push its requests gets a code through login and consent', async () => {
  const browser = new TestBrowser(running)
  const login = await browser.get(authorizeUrl({ client_id: 'strict', request_uri: await push() }))
  const consent = await browser.signIn(login)
  const response = redirectParameters(await browser.submit(consent, { decision: 'allow' }))
  assert.ok(response.code)
  assert.equal(response.state, 'pushed')
})

test('a pushed request may be named in a form, with and without cookies', async () => {
  const browser = new TestBrowser(running)
  const form = async () => ({ client_id: 'strict', request_uri: await push() })
  const first = await browser.follow(await browser.post('/authorize', await form()))
  assert.match(first.text, /action="\/login"/)
  const consent = await browser.signIn(first, 'bob', 'battery staple')
  assert.match(consent.text, /action="\/consent"/)
  assert.ok(redirectParameters(await browser.submit(consent, { decision: 'allow' })).code)
  const again = await browser.post('/authorize', await form())
  assert.ok(redirectParameters(again).code, 'the consent is remembered')
})

for (const [what, send] of [
  ['plain parameters', (browser: TestBrowser) => browser.get(authorizeUrl(plain()))],
  ['a made-up continuation', (browser: TestBrowser) => browser.get(authorizeUrl({ ...plain(), continuation: 'x' }))],
  [
    'a request_uri in the URL of a form',
    (browser: TestBrowser) => browser.post('/authorize?request_uri=x&continuation=x', plain()),
  ],
] as const) {
  test(`a client that must push its requests is rejected with ${what} (RFC 9126 section 5)`, async () => {
    const browser = new TestBrowser(running)
    await browser.get('/account')
    const { error, error_description } = redirectParameters(await send(browser))
    assert.equal(error, 'invalid_request')
    assert.match(String(error_description), /must push its authorization requests/)
  })
}

test('a pushed request of nearly maximum size resumes after the login by a form', async () => {
  const browser = new TestBrowser(running)
  const request_uri = await push({ details: '"'.repeat(21_000) })
  const login = await browser.get(authorizeUrl({ client_id: 'strict', request_uri }))
  const onward = await browser.signIn(login)
  assert.match(onward.text, /<form method="post" action="\/authorize\/continue">/)
  assert.match(String(onward.headers['content-security-policy']), /form-action [^;]*https:\/\/app\.example/)
  const next = await browser.submit(onward)
  const needsConsent = next.text.includes('action="/consent"')
  const response = redirectParameters(needsConsent ? await browser.submit(next, { decision: 'allow' }) : next)
  assert.ok(response.code)
  assert.equal(response.state, 'pushed')
})
