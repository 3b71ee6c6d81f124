import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { startOidc } from '@gatehouse/fakes'
import { decodeJwt } from 'jose'
import type { ConnectionDeclaration } from '../../src/index.ts'
import {
  authorizeUrl,
  callback,
  hiddenFields,
  pkce,
  redirectParameters,
  TestBrowser,
  webSecret,
} from '../support/journey.ts'
import {
  callbackOf,
  choose,
  connectionTo,
  followProvider,
  setupWith,
  signInAt,
  upstreamClient,
  usersByEmail,
  withProvider,
} from '../support/providers.ts'

test('a sign-in with a provider resumes the authorization request and says so in the ID token', async () => {
  await withProvider(async ({ provider, running }) => {
    provider.user = { sub: 'u-1', email: 'Carol@Example.com', email_verified: true, name: 'Carol Clark' }
    const browser = new TestBrowser(running)
    const { code_verifier, code_challenge } = pkce()
    const request = { client_id: 'web', response_type: 'code', scope: 'openid profile email', code_challenge }
    const page = await browser.get(authorizeUrl({ ...request, redirect_uri: callback, state: 's' }))
    assert.match(page.text, /Continue with Acme/)
    const consent = await browser.follow(await browser.get(await followProvider(await choose(browser, page))))
    assert.match(consent.text, /action="\/consent"/)
    const { code = '' } = redirectParameters(await browser.submit(consent, { decision: 'allow' }))
    const tokens = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...webSecret })
    const claims = decodeJwt(String(tokens.body.id_token))
    assert.deepEqual(
      [claims.amr, claims.acr],
      [['fed'], 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport'],
    )
    const [user] = await usersByEmail(running, 'carol@example.com')
    assert.equal(claims.sub, user?.id)
    assert.deepEqual([user?.email_verified, user?.claims], [true, { name: 'Carol Clark' }])
    assert.deepEqual(provider.refusals, [])
    const { rows } = await running.database.query(
      "SELECT details ->> 'connection' AS connection FROM identity.audit_event WHERE type = 'login'",
    )
    assert.deepEqual(rows, [{ connection: 'acme' }])
  })
})

test('a user of a provider is known by issuer and subject, whatever the address becomes there', async () => {
  await withProvider(async ({ provider, running }) => {
    provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true, name: 'Carol' }
    await signInAt(running)
    provider.user = { sub: 'u-1', email: 'alice@example.com', email_verified: true, name: 'Not Alice' }
    const page = await signInAt(running)
    assert.match(page.text, /carol@example.com/)
    const [user] = await usersByEmail(running, 'carol@example.com')
    assert.deepEqual(user?.claims, { name: 'Carol' })
    provider.user = { sub: 'u-2', email: 'carol@example.com', email_verified: true }
    assert.equal((await signInAt(running)).status, 409)
  })
})

test('an unverified address is not stored, unless the operator vouches for the provider', async () => {
  for (const trust_email of [false, true]) {
    await withProvider(
      async ({ provider, running }) => {
        provider.user = { sub: 'u-1', email: 'carol@example.com' }
        assert.equal((await signInAt(running)).status, 200)
        assert.equal((await usersByEmail(running, 'carol@example.com')).length, trust_email ? 1 : 0)
      },
      { trust_email },
    )
  }
})

test('a provider with domains vouches for no address outside of them', async () => {
  await withProvider(
    async ({ provider, running }) => {
      for (const [sub, email, count] of [
        ['u-1', 'victim@bank.example', 0],
        ['u-2', 'carol@acme.example', 1],
      ] as const) {
        provider.user = { sub, email, email_verified: true }
        assert.equal((await signInAt(running)).status, 200)
        assert.equal((await usersByEmail(running, email)).length, count, email)
      }
    },
    { domains: ['acme.example'] },
  )
})

test('without just-in-time creation an unknown user gets the sign-in page and no account', async () => {
  await withProvider(
    async ({ provider, running }) => {
      provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
      const page = await signInAt(running)
      assert.equal(page.status, 403)
      assert.match(page.text, /There is no account for this user of Acme[\s\S]*action="\/login"/)
      assert.equal((await running.identity.management.listUsers('', 50)).length, 2)
    },
    { create_users: false },
  )
})

test('claims are read by configured names, bounded, and from userinfo where missing', async () => {
  const claim_names = { name: 'display_name', given_name: 'first' }
  await withProvider(
    async ({ provider, running }) => {
      provider.user = {
        sub: 'u-1',
        email: 'carol@example.com',
        email_verified: true,
        name: 'ignored',
        display_name: `  ${'C'.repeat(500)}  `,
        first: 'Carol',
        family_name: ['no', 'text'],
        picture: 'javascript:alert(1)',
        roles: ['gatehouse-owner'],
      }
      await signInAt(running)
      const [user] = await usersByEmail(running, 'carol@example.com')
      assert.deepEqual(user?.claims, { name: 'C'.repeat(200), given_name: 'Carol' })
      assert.deepEqual(user?.roles, [])
      provider.user = { ...provider.user, sub: 'u-2', email: 'dave@example.com' }
      provider.misbehaviour = 'other_userinfo'
      assert.equal((await signInAt(running)).status, 400)
    },
    { claim_names },
    { userinfoOnly: ['email', 'email_verified'] },
  )
})

for (const method of ['client_secret_post', 'private_key_jwt', 'none'] as const) {
  test(`a client authenticates at a provider by ${method}`, async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { secret = '', id } = upstreamClient
    const credentials = {
      client_secret_post: { secret },
      private_key_jwt: { publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })) },
      none: {},
    }[method]
    const provider = await startOidc({ client: { id, method, ...credentials }, redirectUris: [callbackOf('acme')] })
    const { client_secret, ...connection } = connectionTo(provider)
    const own = {
      client_secret_post: { client_secret },
      private_key_jwt: { private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), key_id: 'k' },
      none: {},
    }[method]
    const running = await setupWith([{ ...connection, ...own } as ConnectionDeclaration])
    try {
      provider.user = { sub: 'u-1', email: 'carol@example.com', email_verified: true }
      assert.match((await signInAt(running)).text, /carol@example.com/)
    } finally {
      await running.close()
      await provider.stop()
    }
  })
}

test('a client that requires a new sign-in gets a new one at the provider too', async () => {
  await withProvider(async ({ running }) => {
    const browser = new TestBrowser(running)
    const request = { client_id: 'web', response_type: 'code', scope: 'openid', ...pkce() }
    for (const [more, prompt] of [
      [{}, null],
      [{ prompt: 'login' }, 'login'],
      [{ max_age: '60' }, 'login'],
    ] as const) {
      const address = await choose(browser, await browser.get(authorizeUrl({ ...request, ...more })))
      assert.equal(address.searchParams.get('prompt'), prompt)
    }
  })
})

test('a hidden connection is not offered but works; one that only links does not sign in', async () => {
  await withProvider(
    async ({ running }) => {
      const browser = new TestBrowser(running)
      const page = await browser.get('/account')
      assert.doesNotMatch(page.text, /Acme/)
    },
    { hidden: true },
  )
  await withProvider(
    async ({ running }) => {
      const browser = new TestBrowser(running)
      const page = await browser.get('/account')
      assert.doesNotMatch(page.text, /Acme/)
      const response = await browser.post('/login/providers', { ...hiddenFields(page), connection: 'acme' })
      assert.equal(response.status, 400)
    },
    { link_only: true },
  )
})
