import assert from 'node:assert/strict'
import { authorizeUrl, callback, redirectParameters, TestBrowser, users } from './journey.ts'
import { setupOnce, type TestResponse } from './setup.ts'

/** Two relying parties as the suite registers them: without PKCE, each with its own authentication method. */
const party = {
  redirect_uris: [callback],
  post_logout_redirect_uris: ['https://app.example/bye'],
  require_pkce: false,
  token_endpoint_auth_method: 'client_secret_basic' as const,
}
export const basic = { ...party, client_id: 'basic', client_secret: 'basic-secret-0123456789', skip_consent: true }
export const post = { ...basic, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' as const }

export const everyClaim = {
  name: 'Eve Evans',
  family_name: 'Evans',
  given_name: 'Eve',
  middle_name: 'E',
  nickname: 'evie',
  preferred_username: 'eve',
  profile: 'https://eve.example/',
  picture: 'https://eve.example/me.png',
  website: 'https://eve.example/',
  gender: 'female',
  birthdate: '1990-01-01',
  zoneinfo: 'Europe/London',
  locale: 'en-GB',
  phone_number: '+441234567890',
  phone_number_verified: true,
  address: { formatted: '1 High Street\nLondon', country: 'GB' },
}
const eve = { id: 'eve', password: 'long enough', email: 'eve@example.com', email_verified: true, claims: everyClaim }

export const plain = { client_id: 'basic', response_type: 'code', redirect_uri: callback, scope: 'openid', state: 's' }
export type Request = Record<string, string>

export const basicHeader = { authorization: `Basic ${Buffer.from('basic:basic-secret-0123456789').toString('base64')}` }

/** A browser whose user consents. */
export class ConsentingBrowser extends TestBrowser {
  override async signIn(page: TestResponse, username?: string, password?: string): Promise<TestResponse> {
    const next = await super.signIn(page, username, password)
    return next.text.includes('action="/consent"') ? this.submit(next, { decision: 'allow' }) : next
  }
}

/** Identity with both parties, for all tests of a file. */
export function openidParties() {
  const running = setupOnce({ declared: { clients: [basic, post], users: [...users, eve] } })

  /** Requests a code as eve, who signs in if needed. */
  async function ask(request: Request = {}, browser: TestBrowser = new TestBrowser(running)): Promise<TestResponse> {
    const page = await browser.get(authorizeUrl({ ...plain, ...request }))
    return page.text.includes('action="/login"') ? browser.signIn(page, 'eve', 'long enough') : page
  }

  function exchange(code = '', redirect_uri: string = callback): Promise<TestResponse> {
    return running.post('/token', { grant_type: 'authorization_code', code, redirect_uri }, basicHeader)
  }

  async function tokens(request: Request = {}, browser?: TestBrowser): Promise<Record<string, string>> {
    const response = await exchange(redirectParameters(await ask(request, browser)).code)
    assert.equal(response.status, 200, response.text)
    return response.body as Record<string, string>
  }

  const userinfo = (authorization: string, method: 'GET' | 'POST' = 'GET') =>
    running.http.inject({ method, url: '/userinfo', headers: { authorization } })

  return { running, ask, exchange, tokens, userinfo }
}
