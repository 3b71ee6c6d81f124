import assert from 'node:assert/strict'
import { type ClientCredentials, type OidcFake, type OidcOptions, startOidc } from '@gatehouse/fakes'
import type { Database } from '@gatehouse/kit'
import type { ConnectionDeclaration, IdentityOptions } from '../../src/index.ts'
import { clients, hiddenFields, TestBrowser, users } from './journey.ts'
import { issuer, type Running, setup, type TestResponse } from './setup.ts'

/*
 * Identity with connections to fakes of other identity providers, and browsers that go there and back.
 */

export const upstreamClient: ClientCredentials = {
  id: 'gatehouse-at-upstream',
  method: 'client_secret_basic',
  secret: 'upstream-secret-0123456789',
}

export const callbackOf = (connection: string) => `${issuer}/login/providers/${connection}/callback`

/** A connection to a fake OpenID provider. */
export function connectionTo(
  provider: Pick<OidcFake, 'url'>,
  members: Partial<ConnectionDeclaration> = {},
): ConnectionDeclaration {
  return {
    id: 'acme',
    kind: 'oidc',
    name: 'Acme',
    issuer: provider.url,
    client_id: upstreamClient.id,
    client_secret: upstreamClient.secret ?? '',
    create_users: true,
    ...members,
  }
}

/** Identity with these connections, which sign in at providers on this machine. */
export async function setupWith(
  connections: readonly ConnectionDeclaration[],
  options: Partial<IdentityOptions> = {},
  database?: Database,
): Promise<Running> {
  const declared = { clients, users, ...options.declared, connections }
  const running = await setup({ features: { loopbackCalls: true }, ...options, declared }, database)
  running.clock.set(Date.now())
  return running
}

export interface Federated {
  readonly provider: OidcFake
  readonly running: Running
}

/** Runs `work` with one fake provider and identity connected to it as `acme`. */
export async function withProvider(
  work: (at: Federated) => Promise<void>,
  members: Partial<ConnectionDeclaration> = {},
  options: Partial<OidcOptions> & { readonly identity?: Partial<IdentityOptions> } = {},
): Promise<void> {
  const { identity, ...fake } = options
  const provider = await startOidc({ client: upstreamClient, redirectUris: [callbackOf('acme')], ...fake })
  // Entra's address is without the tenant.
  const address = members.kind === 'microsoft' ? provider.url : `${provider.url}${fake.issuerPath ?? ''}`
  const running = await setupWith([connectionTo({ url: address }, members)], identity).catch(async (error) => {
    await provider.stop()
    throw error
  })
  try {
    await work({ provider, running })
  } finally {
    await running.close()
    await provider.stop()
  }
}

/** Chooses a connection on a page with a form for it; returns the provider's address. */
export async function choose(browser: TestBrowser, page: TestResponse, connection: string = 'acme'): Promise<URL> {
  const path = page.text.includes('action="/login/providers"') ? '/login/providers' : '/account/providers'
  const { link_id: _link, ...form } = hiddenFields(page)
  return sentTo(await browser.post(path, { ...form, connection }))
}

/** What the provider's redirect asks of us, as a path with its query. */
export async function followProvider(address: URL): Promise<string> {
  const response = await fetch(address, { redirect: 'manual' })
  const location = response.headers.get('location') ?? assert.fail(`${response.status} ${await response.text()}`)
  const { pathname, search } = new URL(location)
  return `${pathname}${search}`
}

/** Signs in with a provider, from the sign-in page of `/account`, and follows redirects within the issuer. */
export async function signInAt(
  running: Running,
  browser: TestBrowser = new TestBrowser(running),
  connection: string = 'acme',
): Promise<TestResponse> {
  const page = await browser.get('/account')
  return browser.follow(await browser.get(await followProvider(await choose(browser, page, connection))))
}

/** The provider's redirect to us, with nothing sent yet. */
export async function comeBack(browser: TestBrowser, connection: string = 'acme'): Promise<string> {
  return followProvider(await choose(browser, await browser.get('/account'), connection))
}

/** The only page of a refused response, and no session. */
export async function assertRefused(browser: TestBrowser, response: TestResponse, what: string = ''): Promise<void> {
  assert.equal(response.status, 400, `${what} ${response.text}`)
  assert.match(response.text, /The sign-in could not be completed/, what)
  assert.match((await browser.get('/account')).text, /action="\/login"/, `${what}: signed in`)
}

/** The users with an address. */
export async function usersByEmail(running: Running, email: string) {
  const all = await running.identity.management.listUsers('', 200)
  return all.filter((user) => user.email === email)
}

/** The address at the provider that a page sends the browser to. */
export function sentTo(response: TestResponse): URL {
  const address = /^0; url=(.+)$/.exec(response.headers.refresh ?? '')?.[1]
  return new URL(address ?? assert.fail(`${response.status} ${response.text}`))
}

/** Signs in with the provider of an address's domain, from the sign-in page of `/account`. */
export async function signInWithOrganization(browser: TestBrowser, username: string): Promise<TestResponse> {
  const form = { ...hiddenFields(await browser.get('/account')), username }
  const path = await followProvider(sentTo(await browser.post('/login/organization', form)))
  return browser.follow(await browser.get(path))
}

/** Makes a domain one that an organization proved. */
export async function proveDomain({ database }: Pick<Running, 'database'>, id: string, domain: string): Promise<void> {
  await database.query(
    `INSERT INTO identity.organization_domain (organization_id, domain, challenge, created_at, verified_at)
     VALUES ($1, $2, 'proven', 1, 1)`,
    [id, domain],
  )
}

/** Has an organization ask its members for a second factor. */
export async function requireSecondFactor(
  { database }: Pick<Running, 'database'>,
  organization: string,
): Promise<void> {
  await database.query('UPDATE identity.organization SET require_mfa = true WHERE id = $1', [organization])
}

/** Makes a user a member of an organization, without an invitation. */
export async function addMember(
  { database }: Pick<Running, 'database'>,
  organization: string,
  userId: string,
): Promise<void> {
  await database.query('INSERT INTO identity.membership (organization_id, user_id, created_at) VALUES ($1, $2, 1)', [
    organization,
    userId,
  ])
}
