import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { startGitHub, startOidc } from '@gatehouse/fakes'
import { KeyRing, Secret, systemClock } from '@gatehouse/kit'
import { authorizationUrl } from '../../src/connections/authorization.ts'
import { exchangeCode } from '../../src/connections/exchange.ts'
import { readProfile } from '../../src/connections/profile.ts'
import { ProviderClients } from '../../src/connections/provider-clients.ts'
import { createProviderFetch } from '../../src/connections/provider-fetch.ts'
import { sealSecrets } from '../../src/connections/secrets.ts'
import type { Connection, ConnectionSettings } from '../../src/model/connection.ts'
import { TestBrowser } from '../support/journey.ts'
import {
  assertRefused,
  callbackOf,
  choose,
  comeBack,
  setupWith,
  signInAt,
  upstreamClient,
  usersByEmail,
  withProvider,
} from '../support/providers.ts'
import { issuer } from '../support/setup.ts'

const tenant = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
const otherTenant = 'bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb'

function connectionOf(settings: Partial<ConnectionSettings> & Pick<ConnectionSettings, 'kind'>): Connection {
  return { id: 'c', settings: { client_id: 'c', ...settings }, secretSealed: undefined, createdAt: 0, updatedAt: 0 }
}

test('a Workspace domain is checked in the token, and only it makes Google authoritative', async () => {
  const google = { kind: 'google', hosted_domain: 'corp.example' } as const
  await withProvider(async ({ provider, running }) => {
    provider.user = { sub: 'g-1', email: 'gina@corp.example', email_verified: true, hd: 'corp.example' }
    const browser = new TestBrowser(running)
    const address = await choose(browser, await browser.get('/account'))
    assert.equal(address.searchParams.get('hd'), 'corp.example')
    assert.match((await signInAt(running)).text, /gina@corp.example/)
    for (const hd of ['evil.example', undefined]) {
      provider.user = { sub: 'g-2', email: 'x@corp.example', email_verified: true, ...(hd ? { hd } : {}) }
      const other = new TestBrowser(running)
      await assertRefused(other, await other.get(await comeBack(other)), String(hd))
    }
  }, google)
  const connection = connectionOf({ kind: 'google', authoritative_domains: ['gmail.com', 'corp.example'] })
  const isAuthoritative = (email: string, more: object = {}) =>
    readProfile(connection, 'https://accounts.google.com', { sub: 's', email, email_verified: true, ...more })
      .isAuthoritative
  assert.equal(isAuthoritative('a@gmail.com'), true)
  assert.equal(isAuthoritative('a@corp.example'), false)
  assert.equal(isAuthoritative('a@corp.example', { hd: 'corp.example' }), true)
  assert.equal(isAuthoritative('a@other.example', { hd: 'other.example' }), false)
})

test('Entra signs in users of listed tenants only, and its email counts with xms_edov alone', async () => {
  const members = { kind: 'microsoft' as const, tenants: [tenant] }
  await withProvider(
    async ({ provider, running }) => {
      provider.user = { sub: 'e-1', tid: tenant, email: 'erin@corp.example', email_verified: true }
      await signInAt(running)
      assert.equal((await usersByEmail(running, 'erin@corp.example')).length, 0)
      provider.user = { sub: 'e-2', tid: tenant, email: 'eve@corp.example', xms_edov: true }
      assert.match((await signInAt(running)).text, /eve@corp.example/)
      for (const tid of [otherTenant, undefined]) {
        provider.user = { sub: 'e-3', ...(tid ? { tid } : {}), email: 'mallory@corp.example', xms_edov: true }
        const browser = new TestBrowser(running)
        await assertRefused(browser, await browser.get(await comeBack(browser)), String(tid))
      }
    },
    members,
    { issuerPath: `/${tenant}/v2.0` },
  )
})

test('with several tenants at Entra each token names its own issuer, which must be a listed one', async () => {
  const base = 'https://login.microsoftonline.com'
  const provider = await startOidc({
    client: { ...upstreamClient, method: 'client_secret_post' },
    redirectUris: [callbackOf('entra')],
    issuerPath: '/organizations/v2.0',
    issuer: `${base}/{tid}/v2.0`,
    issParameter: false,
  })
  const encryptionKey = KeyRing.of(new Secret('0123456789abcdef0123456789abcdef'))
  const loopback = createProviderFetch(true)
  const clients = new ProviderClients({
    clock: systemClock,
    encryptionKey,
    loopback: true,
    // Entra's metadata is read at Entra's address; everything else is where the metadata says.
    send: (address, request) => loopback(address.replace(base, provider.url), request),
  })
  const connection: Connection = {
    id: 'entra',
    settings: { kind: 'microsoft', client_id: upstreamClient.id, tenants: [tenant, otherTenant] },
    secretSealed: sealSecrets(encryptionKey, 'entra', { client_secret: upstreamClient.secret ?? '' }) ?? '',
    createdAt: 0,
    updatedAt: 0,
  }
  const signIn = async (tid: string) => {
    provider.user = { sub: 'e-1', tid }
    const secrets = { state: 's'.repeat(43), nonce: 'n'.repeat(43), codeVerifier: 'v'.repeat(43) }
    const configuration = await clients.get(connection)
    const address = await authorizationUrl(configuration, connection, issuer, { ...secrets, freshSince: undefined })
    const response = await fetch(address, { redirect: 'manual' })
    const parameters = new URL(response.headers.get('location') ?? '').searchParams
    return exchangeCode(clients, connection, issuer, { parameters, secrets })
  }
  try {
    const [first, second] = [await signIn(tenant), await signIn(otherTenant)]
    assert.deepEqual([first.issuer, second.issuer], [`${base}/${tenant}/v2.0`, `${base}/${otherTenant}/v2.0`])
    await assert.rejects(signIn('cccccccc-cccc-4ccc-8ccc-cccccccccccc'), /is not allowed/)
  } finally {
    await provider.stop()
  }
})

test('Apple’s posted response, client secret, text booleans and one-time name are accepted', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const provider = await startOidc({
    client: {
      id: 'com.example.web',
      method: 'client_secret_post',
      teamId: 'ABCDE12345',
      keyId: 'KEY1',
      publicKey: String(publicKey.export({ type: 'spki', format: 'pem' })),
    },
    redirectUris: [callbackOf('apple')],
    formPost: true,
  })
  const running = await setupWith([
    {
      id: 'apple',
      kind: 'apple',
      issuer: provider.url,
      client_id: 'com.example.web',
      team_id: 'ABCDE12345',
      key_id: 'KEY1',
      private_key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
      create_users: true,
    },
  ])
  const post = async (browser: TestBrowser) => {
    const page = await fetch(await choose(browser, await browser.get('/account'), 'apple'))
    const fields = [...(await page.text()).matchAll(/name="([^"]+)" value="([^"]*)"/g)]
    const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value.replaceAll('&quot;', '"')]))
    // A cross-site POST carries no cookie.
    const response = await running.post('/login/providers/apple/callback', form, { origin: provider.url })
    return { response, form }
  }
  try {
    provider.user = { sub: 'a-1', email: 'relay@privaterelay.appleid.com', email_verified: 'true' }
    provider.extraFields = {
      user: JSON.stringify({ name: { firstName: 'Ada', lastName: 'Apple' }, email: 'evil@x.example' }),
    }
    const browser = new TestBrowser(running)
    const { response, form } = await post(browser)
    assert.equal(response.status, 303)
    const handle = response.headers.location ?? ''
    assert.ok(!handle.includes(form.code ?? 'code') && response.headers['set-cookie'] === undefined)
    await assertRefused(new TestBrowser(running), await new TestBrowser(running).get(handle), 'another browser')
    assert.equal((await running.post('/login/providers/apple/callback', form)).status, 400)
    assert.match((await browser.follow(await browser.get(handle))).text, /relay@privaterelay/)
    provider.extraFields = {}
    const again = new TestBrowser(running)
    await again.follow(await again.get((await post(again)).response.headers.location ?? ''))
    const [user] = await usersByEmail(running, 'relay@privaterelay.appleid.com')
    assert.deepEqual(user?.claims, { name: 'Ada Apple', given_name: 'Ada', family_name: 'Apple' })
    assert.deepEqual(provider.refusals, [])
    const posted = await running.post('/login/providers/apple/callback', { state: 'invented', code: 'x' })
    assert.equal(posted.status, 400)
  } finally {
    await running.close()
    await provider.stop()
  }
})

test('GitHub’s user is known by number and verified address; its errors have status 200', async () => {
  const options = { clientId: 'gh', clientSecret: 'gh-secret', redirectUri: callbackOf('github') }
  const github = await startGitHub(options)
  const running = await setupWith([
    {
      id: 'github',
      kind: 'github',
      issuer: github.url,
      client_id: 'gh',
      client_secret: 'gh-secret',
      create_users: true,
    },
  ])
  try {
    const emails = [
      { email: 'unverified@example.com', primary: true, verified: false },
      { email: 'octo@example.com', primary: false, verified: true },
    ]
    github.user = { id: 1, login: 'octocat', name: null, emails }
    await signInAt(running, undefined, 'github')
    assert.equal((await usersByEmail(running, 'octo@example.com')).length, 0)
    github.user = { ...github.user, id: 2, emails: emails.map((one) => ({ ...one, verified: true })) }
    assert.match((await signInAt(running, undefined, 'github')).text, /unverified@example.com/)
    const [user] = await usersByEmail(running, 'unverified@example.com')
    assert.equal((user?.claims as { name?: string } | undefined)?.name, 'octocat')
    const { rows } = await running.database.query(
      'SELECT issuer, subject FROM identity.linked_account ORDER BY subject',
    )
    assert.deepEqual(
      rows,
      ['1', '2'].map((subject) => ({ issuer: `${github.url}/login/oauth`, subject })),
    )
    for (const error of ['bad_verification_code', 'incorrect_client_credentials', 'redirect_uri_mismatch'] as const) {
      github.error = error
      const browser = new TestBrowser(running)
      await assertRefused(browser, await browser.get(await comeBack(browser, 'github')), error)
    }
  } finally {
    await running.close()
    await github.stop()
  }
})
