import type { ServiceToken } from '@gatehouse/bearer'
import { Pool } from 'undici'
import type { PlanOf } from '../model/plan.ts'
import type { ApiKey, ResolveApiKey } from './api-keys.ts'

/** Looks up plans and API keys at an identity service in another process. */
export interface IdentityClient {
  readonly planOf: PlanOf
  readonly resolveApiKey: ResolveApiKey
  /** Closes its connections once their requests are done. */
  close(): Promise<void>
}

/** How long identity may take to answer, in milliseconds. */
const timeoutMs = 2_000
const maxResponseBytes = 64 * 1024

/**
 * Looks up plans and API keys at an identity service in another process, directly with the service's own token, never
 * through a gateway: `GET {identityUrl}/users/{id}`, for clients `GET {identityUrl}/admin/v1/clients/{id}/plan` (scope
 * read:users both), and `POST {identityUrl}/admin/v1/api-keys/resolve`. The lookups reject when identity cannot be
 * reached or its response is not the expected one.
 */
export function createIdentityClient(identityUrl: string, token: ServiceToken): IdentityClient {
  const http = new IdentityHttp(identityUrl, token)
  return {
    async planOf(subject) {
      const id = encodeURIComponent(subject)
      const found =
        (await http.request('GET', `/users/${id}`)) ?? (await http.request('GET', `/admin/v1/clients/${id}/plan`))
      return typeof found?.plan === 'string' ? { plan: found.plan } : undefined
    },
    async resolveApiKey(key) {
      const found = await http.request('POST', '/admin/v1/api-keys/resolve', { key })
      return found === undefined ? undefined : parseApiKey(found)
    },
    close: () => http.close(),
  }
}

/** JSON requests to identity, authenticated with the service's token. */
class IdentityHttp {
  readonly #base: string
  readonly #pool: Pool
  readonly #token: ServiceToken

  constructor(identityUrl: string, token: ServiceToken) {
    const { origin, pathname } = new URL(identityUrl)
    this.#base = pathname.replace(/\/$/, '')
    this.#pool = new Pool(origin, { connections: 16, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
    this.#token = token
  }

  /** The object that identity answers; undefined for 404. After a 401 the token is renewed once. */
  async request(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown> | undefined> {
    for (let isLast = false; ; isLast = true) {
      const bearer = await this.#token.current()
      const response = await this.#pool.request({
        method,
        path: this.#base + path,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      if (response.statusCode === 200) return parseObject(await readText(response.body), method, path)
      await response.body.dump()
      if (response.statusCode === 404) return undefined
      if (response.statusCode !== 401 || isLast)
        throw new Error(`identity answered ${response.statusCode} to ${method} ${path}`)
      this.#token.discard(bearer)
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxResponseBytes) throw new Error(`identity answered more than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseObject(text: string, method: string, path: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new Error(`identity answered no object to ${method} ${path}`)
}

function parseApiKey({ id, owner, kind, scopes, plan }: Record<string, unknown>): ApiKey {
  if (typeof id !== 'string' || typeof owner !== 'string' || !isKind(kind) || !isStringArray(scopes))
    throw new Error('identity answered an API key without id, owner, kind and scopes')
  return { id, owner, kind, scopes, plan: typeof plan === 'string' ? plan : undefined }
}

function isKind(value: unknown): value is ApiKey['kind'] {
  return value === 'user' || value === 'client'
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
