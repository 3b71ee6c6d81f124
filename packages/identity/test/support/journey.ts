import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type Running, responseOf, type TestResponse } from './setup.ts'

type Served = Pick<Running, 'http' | 'post'>

export const callback = 'https://app.example/callback'

/** A confidential web application, a public one, and a device. */
export const clients = [
  {
    client_id: 'web',
    client_secret: 'web-secret-0123456789abc',
    client_name: 'Photo Print',
    redirect_uris: [callback],
    post_logout_redirect_uris: ['https://app.example/bye'],
    grant_types: ['authorization_code', 'refresh_token'] as ('authorization_code' | 'refresh_token')[],
    scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access', 'read:users'],
    resources: ['https://photos.example'],
  },
  {
    client_id: 'spa',
    token_endpoint_auth_method: 'none' as const,
    redirect_uris: ['https://spa.example/callback'],
    scopes: ['openid', 'offline_access', 'read:users'],
  },
  {
    client_id: 'tv',
    client_name: 'Living room TV',
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['urn:ietf:params:oauth:grant-type:device_code' as const, 'refresh_token' as const],
    scopes: ['openid', 'offline_access', 'read:users'],
  },
]

export const users = [
  {
    id: 'alice',
    password: 'correct horse',
    email: 'alice@example.com',
    email_verified: true,
    plan: 'pro',
    roles: ['support'],
    claims: {
      name: 'Alice Adams',
      locale: 'en-GB',
      phone_number: '+441234567890',
      address: { formatted: '1 High Street\nLondon' },
    },
  },
  { id: 'bob', password: 'battery staple', email: 'bob@example.com' },
]

export const webSecret = { client_id: 'web', client_secret: 'web-secret-0123456789abc' }

export function pkce(): { code_verifier: string; code_challenge: string } {
  const code_verifier = randomBytes(32).toString('base64url')
  return { code_verifier, code_challenge: createHash('sha256').update(code_verifier).digest('base64url') }
}

/** A browser that keeps cookies and submits forms, without scripts. */
export class TestBrowser {
  readonly #running: Served
  readonly #headers: Record<string, string>
  readonly #address: string
  readonly cookies = new Map<string, string>()

  constructor(running: Served, headers: Record<string, string> = {}, address: string = '127.0.0.1') {
    this.#address = address
    this.#running = running
    this.#headers = headers
  }

  async get(url: string): Promise<TestResponse> {
    return this.#send('GET', url)
  }

  async post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<TestResponse> {
    return this.#send('POST', url, new URLSearchParams(form).toString(), headers)
  }

  /** Submits the form of a page with the input of a person. */
  async submit(page: TestResponse, input: Record<string, string> = {}): Promise<TestResponse> {
    const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? assert.fail(`no form in ${page.text}`)
    return this.post(decoded(action), { ...hiddenFields(page), ...input })
  }

  /** Signs in at a login page and follows redirects within the issuer. */
  async signIn(
    page: TestResponse,
    username: string = 'alice',
    password: string = 'correct horse',
  ): Promise<TestResponse> {
    return this.follow(await this.submit(page, { username, password }))
  }

  async follow(response: TestResponse): Promise<TestResponse> {
    const location = response.headers.location
    return location?.startsWith('/') ? this.follow(await this.get(location)) : response
  }

  async #send(
    method: 'GET' | 'POST',
    url: string,
    payload?: string,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const form = payload === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }
    const response = await this.#running.http.inject({
      method,
      url,
      remoteAddress: this.#address,
      ...(payload === undefined ? {} : { payload }),
      headers: { ...(cookie ? { cookie } : {}), ...form, ...this.#headers, ...headers },
    })
    for (const { name, value, maxAge } of response.cookies as { name: string; value: string; maxAge?: number }[]) {
      if (maxAge === 0) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return responseOf(response)
  }
}

export function hiddenFields(page: TestResponse): Record<string, string> {
  const fields = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, decoded(value)]))
}

function decoded(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

export function authorizeUrl(parameters: Record<string, string>): string {
  return `/authorize?${new URLSearchParams(parameters)}`
}

/** The parameters of a redirect to the client. */
export function redirectParameters(response: TestResponse): Record<string, string> {
  const location = response.headers.location ?? assert.fail(`no redirect: ${response.status} ${response.text}`)
  return Object.fromEntries(new URL(location).searchParams)
}

export interface CodeOptions {
  readonly scope?: string
  readonly client?: string
  /** The credentials of a confidential client other than `web`. */
  readonly secret?: { readonly client_id: string; readonly client_secret: string }
  readonly browser?: TestBrowser
  readonly user?: readonly [string, string]
  readonly extra?: Record<string, string>
}

/** Goes through login and consent; returns the code and its verifier. */
export async function getCode(
  running: Served,
  { scope = 'openid offline_access', client = 'web', browser, user, extra }: CodeOptions = {},
): Promise<{ code: string; code_verifier: string; browser: TestBrowser; response: Record<string, string> }> {
  const used = browser ?? new TestBrowser(running)
  const { code_verifier, code_challenge } = pkce()
  const request = {
    client_id: client,
    response_type: 'code',
    scope,
    code_challenge,
    code_challenge_method: 'S256',
    ...extra,
  }
  let page = await used.get(authorizeUrl(request))
  if (page.text.includes('action="/login"')) page = await used.signIn(page, ...(user ?? []))
  if (page.text.includes('action="/consent"')) page = await used.submit(page, { decision: 'allow' })
  const response = redirectParameters(page)
  return { code: response.code ?? assert.fail(JSON.stringify(response)), code_verifier, browser: used, response }
}

/** The tokens of a user, through login, consent and exchange. */
export async function getTokens(running: Served, options: CodeOptions = {}): Promise<Record<string, string>> {
  const { code, code_verifier } = await getCode(running, options)
  const { client = 'web' } = options
  const secret = options.secret ?? (client === 'web' ? webSecret : { client_id: client })
  const response = await running.post('/token', { grant_type: 'authorization_code', code, code_verifier, ...secret })
  assert.equal(response.status, 200, response.text)
  return response.body as Record<string, string>
}
