import assert from 'node:assert/strict'

/** What a person's browser sends with a call of the console's own pages. */
export const ownPage = { 'x-console': '1', 'sec-fetch-site': 'same-origin' }

/** A browser that keeps cookies and follows no redirect by itself. */
export class Person {
  readonly cookies = new Map<string, string>()
  readonly origin: string
  /** The Set-Cookie lines of every answer. */
  readonly setCookies: string[] = []

  constructor(origin: string) {
    this.origin = origin
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers)
    headers.set('cookie', [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await fetch(new URL(path, this.origin), { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#keep(line)
    return response
  }

  /** Calls the console as its pages do. */
  api(path: string, init: RequestInit = {}): Promise<Response> {
    return this.request(`/console/api${path}`, { ...init, headers: { ...ownPage, ...init.headers } })
  }

  /** Whether the console has a live session of this browser. */
  async isSignedIn(): Promise<boolean> {
    const answer = await this.api('/session')
    assert.equal(answer.status, 200)
    return ((await answer.json()) as { user: string | null }).user !== null
  }

  #keep(line: string): void {
    this.setCookies.push(line)
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (/max-age=0/i.test(line)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }

  /** Begins a sign-in at the console and goes on to the page that asks for the password. */
  async begin(query = ''): Promise<Response> {
    let response = await this.request(`/console/login${query}`)
    for (let step = 0; step < 5 && response.status >= 300 && response.status < 400; step++) {
      const next = response.headers.get('location') ?? assert.fail('a redirect without an address')
      const address = new URL(next, response.url)
      if (address.pathname === '/console/callback') return response
      response = await this.request(address.href)
    }
    return response
  }

  /** Signs in; returns the answer of the console's callback, not yet asked for when `stop` is true. */
  async signIn(username: string, password: string, query = ''): Promise<Response> {
    const callback = await this.callbackOf(username, password, query)
    return this.request(callback)
  }

  /** Signs in at the provider and returns the address to which it sends the browser back. */
  async callbackOf(username: string, password: string, query = ''): Promise<string> {
    let response = await this.begin(query)
    if (response.status === 200) {
      const page = await response.text()
      const body = new URLSearchParams({ username, password })
      for (const [, name = '', value = ''] of page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
        body.set(name, value)
      response = await this.request(new URL('/login', response.url).href, { method: 'POST', body })
    }
    for (let step = 0; step < 5; step++) {
      const next = response.headers.get('location') ?? assert.fail(`${response.status}: ${await response.text()}`)
      const address = new URL(next, response.url)
      if (address.pathname === '/console/callback') return address.href
      response = await this.request(address.href)
    }
    return assert.fail('the browser was sent in circles')
  }
}
