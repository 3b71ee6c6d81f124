import { createHttp, createMetrics, Secret, silentLog, systemClock } from '@gatehouse/kit'
import { freePort, memoryDatabase } from '@gatehouse/testing'
import type { Features } from '../../src/config/features.ts'
import { createIdentity, type IdentityDeclarations, type IdentityOptions } from '../../src/index.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'

/** Identity on a real port, by default on the system clock, for third-party clients. */
export interface LiveIdentity {
  readonly issuer: string
  close(): Promise<void>
}

export async function startIdentity(
  declared: IdentityDeclarations,
  features: Partial<Features> = {},
  { clock = systemClock, ...options }: Partial<Pick<IdentityOptions, 'mfa' | 'clock' | 'notify'>> = {},
): Promise<LiveIdentity> {
  const port = await freePort()
  const issuer = `http://localhost:${port}`
  const database = await memoryDatabase(migrateIdentity)
  const identity = await createIdentity({
    store: postgresIdentityStore(database),
    issuer,
    baseUrl: issuer,
    encryptionKey: new Secret('0123456789abcdef0123456789abcdef'),
    declared,
    features,
    ...options,
    passwords: { minLength: 8 },
    authenticate: () => {
      throw new Error('bearer authentication is not used here')
    },
    clock,
    log: silentLog,
    metrics: createMetrics(),
  })
  const http = createHttp({ log: silentLog })
  await http.register(identity.plugin)
  await http.listen({ port, host: '127.0.0.1' })
  return {
    issuer,
    async close() {
      await http.close()
      await Promise.all(identity.workers.map((worker) => worker.stop()))
      await database.close()
    },
  }
}

/** A person with a browser that keeps cookies, without scripts. */
export class Person {
  readonly #cookies = new Map<string, string>()
  readonly #fill: (page: string) => Readonly<Record<string, string>>

  /** `fill` returns what the person enters into a form beside name and password. */
  constructor(fill: (page: string) => Readonly<Record<string, string>> = () => ({})) {
    this.#fill = fill
  }

  /** Opens the address, signs in and consents; returns the URL of another origin that it is redirected to. */
  async authorize(address: URL, decision: string = 'allow'): Promise<URL> {
    let response = await this.#fetch(address)
    for (let step = 0; step < 10; step++) {
      const location = response.headers.get('location')
      if (location !== null) {
        const next = new URL(location, address)
        if (next.origin !== address.origin) return next
        response = await this.#fetch(next)
        continue
      }
      response = await this.#submit(address, await response.text(), decision)
    }
    throw new Error('too many redirects')
  }

  /** Follows redirects to any origin, submits every form, and returns the last page. */
  async browse(address: URL, decision: string = 'allow'): Promise<{ readonly address: URL; readonly text: string }> {
    let at = address
    let response = await this.#fetch(at)
    for (let step = 0; step < 15; step++) {
      const location = response.headers.get('location')
      if (location !== null) {
        at = new URL(location, at)
        response = await this.#fetch(at)
        continue
      }
      const text = await response.text()
      if (!text.includes('<form method="post"')) return { address: at, text }
      response = await this.#submit(at, text, decision)
    }
    throw new Error('too many redirects')
  }

  /** The redirect target of an address; empty when it shows a page. */
  async look(address: URL): Promise<string> {
    return (await this.#fetch(address)).headers.get('location') ?? ''
  }

  async #submit(base: URL, page: string, decision: string): Promise<Response> {
    const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1] ?? ''
    const body = new URLSearchParams({ username: 'alice', password: 'correct horse', decision })
    for (const [, name = '', value = ''] of page.matchAll(/<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"/g)) {
      if (name !== 'username') body.set(name, value)
    }
    for (const [name, value] of Object.entries(this.#fill(page))) body.set(name, value)
    const { origin } = base
    return this.#fetch(new URL(action, base), { method: 'POST', body, headers: { origin } })
  }

  async #fetch(address: URL, init: RequestInit = {}): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(address, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.#cookies.set(name, value)
    }
    return response
  }
}
