import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorizeUrl, clients, hiddenFields, pkce, TestBrowser, users } from '../support/journey.ts'
import { service, setupOnce } from '../support/setup.ts'

const running = setupOnce({ declared: { clients: [...clients, service], users } })

test('the session id changes at login, and a login started elsewhere is rejected', async () => {
  const victim = new TestBrowser(running)
  const request = authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() })
  const page = await victim.get(request)
  victim.cookies.set('gatehouse_session', 'A'.repeat(43))
  await victim.signIn(page)
  assert.notEqual(victim.cookies.get('gatehouse_session'), 'A'.repeat(43))
  const attacker = new TestBrowser(running)
  const theirs = await attacker.get(request)
  const forged = await victim.submit(theirs, { username: 'bob', password: 'battery staple' })
  assert.equal(forged.status, 403)
  const own = await attacker.get(request)
  const crossSite = { ...hiddenFields(own), username: 'bob', password: 'battery staple' }
  assert.equal((await attacker.post('/login', crossSite, { origin: 'https://evil.example' })).status, 403)
})

test('pages forbid framing and inline scripts, and escape what they show', async () => {
  const login_hint = '"><script>alert(1)</script>'
  const request = { client_id: 'web', response_type: 'code', scope: 'openid', login_hint, ...pkce() }
  const page = await running.http.inject(authorizeUrl(request))
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /frame-ancestors 'none'/)
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /form-action 'self' https:\/\/app\.example/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(page.headers['x-frame-options'], 'DENY')
  assert.match(policy, /script-src 'self'; connect-src 'self';/)
  const scripts = page.payload.match(/<script.*?<\/script>/gs)
  assert.deepEqual(scripts, ['<script type="module" src="/pages/passkeys.js"></script>'])
})

test('an unknown user and a wrong password get the same response', async () => {
  const tried = async (username: string) => {
    const browser = new TestBrowser(running)
    const page = await browser.get(
      authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }),
    )
    const response = await browser.submit(page, { username, password: 'wrong' })
    const text = response.text.replaceAll(/value="[^"]*"/g, '')
    return [response.status, text]
  }
  const wrong = await tried('alice')
  assert.equal(wrong[0], 401)
  assert.deepEqual(await tried('nobody'), wrong)
})

test('an abandoned login leaves no row behind', async () => {
  const count = async () => {
    const { rows } = await running.database.query<{ n: number }>(
      'SELECT (SELECT count(*) FROM identity.session) + (SELECT count(*) FROM identity.grant_record) AS n',
    )
    return rows[0]?.n
  }
  const earlier = await count()
  await running.http.inject(authorizeUrl({ client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }))
  assert.equal(await count(), earlier)
})
