import assert from 'node:assert/strict'
import type { Database } from '@gatehouse/kit'
import { decodeJwt } from 'jose'
import type { IdentityOptions, NotifyRequest } from '../../../src/index.ts'
import { callback, getTokens, TestBrowser } from '../journey.ts'
import { type Running, responseOf, setup, type TestResponse } from '../setup.ts'
import { administrators, consoleClient } from './administrators.ts'

/*
 * Two organizations, acme and beta, with members of different power; ann is a member of both, sam of none.
 */

export const password = 'a long and quiet password'
const secret = 'secret-0123456789abcdef'
export const portalSecret = { client_id: 'portal', client_secret: secret }
export const invoices = 'https://invoices.example'

const person = (id: string, email_verified: boolean = true) => ({
  id,
  password,
  email: `${id}@people.example`,
  email_verified,
})

const administration = ['read:organization', 'write:organization', 'write:members', 'write:member-roles']
const portal = {
  redirect_uris: [callback],
  scopes: ['openid', 'profile', 'offline_access', 'read:users', 'read:invoices', 'write:invoices', ...administration],
  resources: [invoices],
  skip_consent: true,
}

const device = {
  token_endpoint_auth_method: 'none' as const,
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code' as const, 'refresh_token' as const],
  scopes: ['openid', 'offline_access', 'read:invoices', 'write:invoices'],
}

export const declared = {
  clients: [
    { ...portalSecret, client_name: 'Portal', ...portal },
    { client_id: 'opaque', client_secret: secret, ...portal, access_token_format: 'opaque' as const },
    { client_id: 'single', client_secret: secret, ...portal, organizations: 'none' as const },
    { client_id: 'business', client_secret: secret, ...portal, organizations: 'required' as const },
    { client_id: 'terminal', client_name: 'Terminal', ...device },
    { client_id: 'terminal-single', ...device, organizations: 'none' as const },
    consoleClient,
  ],
  users: [
    ...['ann', 'adam', 'vera', 'olga', 'bob', 'sam'].map((id) => person(id)),
    person('uma', false),
    ...administrators.slice(0, 1),
  ],
  organizationRoles: [
    { key: 'editor', permissions: ['read:invoices', 'write:invoices'] },
    { key: 'viewer', name: 'Viewer', permissions: ['read:invoices'] },
    {
      key: 'admin',
      permissions: ['read:organization', 'write:members', 'write:member-roles', 'read:invoices'],
    },
  ],
  organizations: [
    {
      id: 'acme',
      name: 'Acme Ltd',
      members: [
        { user_id: 'olga', roles: ['owner'] },
        { user_id: 'adam', roles: ['admin'] },
        { user_id: 'ann', roles: ['editor'] },
        { user_id: 'vera', roles: [] },
      ],
    },
    {
      id: 'beta',
      name: 'Beta Inc',
      members: [
        { user_id: 'bob', roles: ['owner'] },
        { user_id: 'ann', roles: ['viewer'] },
      ],
    },
  ],
}

export interface Organizations extends Running {
  readonly mails: NotifyRequest[]
}

/** Identity with both organizations, and the mails that it sent. */
export async function setupOrganizations(
  options: Partial<IdentityOptions> = {},
  database?: Database,
): Promise<Organizations> {
  const mails: NotifyRequest[] = []
  const notify = async (request: NotifyRequest) => void mails.push(request)
  return { ...(await setup({ declared, notify, ...options }, database)), mails }
}

type Served = Pick<Running, 'http' | 'post'>

export interface Tokens {
  readonly access: Record<string, unknown>
  readonly id: Record<string, unknown>
  readonly accessToken: string
  readonly refreshToken: string
  readonly scope: string
}

/** The tokens of a user at the portal, for an organization if one is named. */
export async function tokensOf(
  running: Served,
  user: string,
  organization?: string,
  scope: string = 'openid offline_access read:invoices write:invoices',
): Promise<Tokens> {
  const extra: Record<string, string> = organization === undefined ? {} : { organization }
  const request = { client: 'portal', secret: portalSecret, scope, user: [user, password] as const, extra }
  const {
    access_token = '',
    refresh_token = '',
    id_token = '',
    scope: granted = '',
  } = await getTokens(running, request)
  return {
    access: decodeJwt(access_token),
    id: decodeJwt(id_token),
    accessToken: access_token,
    refreshToken: refresh_token,
    scope: granted,
  }
}

/** The scopes of a member's own administration. */
export const administering = `openid ${administration.join(' ')}`

/** A token with which a member administers an organization. */
export async function memberToken(running: Served, user: string, organization: string): Promise<string> {
  return (await tokensOf(running, user, organization, administering)).accessToken
}

export async function refresh(running: Served, refresh_token: string): Promise<TestResponse> {
  return running.post('/token', { grant_type: 'refresh_token', refresh_token, ...portalSecret })
}

export async function introspect(running: Served, token: string): Promise<Record<string, unknown>> {
  return (await running.post('/introspect', { token, ...portalSecret })).body
}

/** A call with a bearer token. */
export async function send(
  running: Served,
  token: string,
  method: string,
  url: string,
  payload?: object,
): Promise<TestResponse> {
  const headers = { authorization: `Bearer ${token}` }
  const body = payload === undefined ? {} : { payload }
  return responseOf(await running.http.inject({ method: method as 'GET', url, headers, ...body }))
}

/** A browser in which a user is signed in. */
export async function signedIn(running: Served, user: string): Promise<TestBrowser> {
  const browser = new TestBrowser(running)
  await browser.signIn(await browser.get('/account'), user, password)
  return browser
}

/** The path of the link in the next invitation to an address; mails are sent in the background. */
export async function invitationLink({ mails }: Pick<Organizations, 'mails'>, email: string): Promise<string> {
  const deadline = performance.now() + 20_000
  for (;;) {
    const index = mails.findIndex((one) => one.event === 'organization_invitation' && one.email === email)
    const [mail] = index < 0 ? [] : mails.splice(index, 1)
    if (mail !== undefined) return String(mail.data.link).replace('http://localhost:8080', '')
    assert.ok(performance.now() < deadline, `no invitation for ${email}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
