import assert from 'node:assert/strict'

/** A page, or the address outside the program where a redirect leads. */
export interface Page {
  readonly address: URL
  readonly text: string
}

/** A person's browser at the program: it keeps cookies and submits forms, without scripts. */
export class Visitor {
  readonly #origin: string
  readonly #cookies = new Map<string, string>()

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Opens an address and follows redirects, up to the first that leads elsewhere. */
  get(address: string | URL): Promise<Page> {
    return this.#follow(new URL(address, this.#origin))
  }

  /** Submits the first form of a page with the input of the person. */
  submit({ text }: Page, input: Readonly<Record<string, string>> = {}): Promise<Page> {
    const [, method, action = assert.fail(`no form in ${text}`)] =
      /<form method="(\w+)" action="([^"]+)"/.exec(text) ?? []
    const body = new URLSearchParams()
    for (const [, name = '', value = ''] of text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g))
      body.set(name, value)
    for (const [name, value] of Object.entries(input)) body.set(name, value)
    if (method === 'get') return this.get(`${action}?${body}`)
    return this.#follow(new URL(action, this.#origin), { method: 'POST', body })
  }

  async #follow(first: URL, init: RequestInit = {}): Promise<Page> {
    let address = first
    let response = await this.#fetch(address, init)
    for (let step = 0; step < 10; step++) {
      const location = response.headers.get('location')
      if (location === null) return { address, text: await response.text() }
      address = new URL(location, address)
      if (address.origin !== this.#origin) return { address, text: '' }
      response = await this.#fetch(address, {})
    }
    return assert.fail('the browser was sent in circles')
  }

  async #fetch(address: URL, init: RequestInit): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { ...init, redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/; Max-Age=0(;|$)/i.test(line)) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }
}
