import type { ServiceToken } from '@gatehouse/bearer'
import { Pool } from 'undici'
import type { ClientPolicy, LimitFeed, LimitOverride, LimitSource } from '../model/limit-feed.ts'
import type { PlanOf } from '../model/plan.ts'
import type { ApiKey, ResolveApiKey } from './api-keys.ts'

/** Looks up plans and API keys at an identity service in another process. */
export interface IdentityClient {
  readonly planOf: PlanOf
  readonly resolveApiKey: ResolveApiKey
  /** The limits that identity stores, read and reported under the id of this process. */
  limitSource(process: {
    readonly id: string
    readonly host: string
    readonly services: readonly string[]
  }): LimitSource
  /** Closes its connections once their requests are done. */
  close(): Promise<void>
}

/** How long identity may take to answer, in milliseconds. */
const timeoutMs = 2_000
/** The largest response is the feed of limits: up to 500 tiers and policies, 1,000 overrides and 1,000 clients. */
const maxResponseBytes = 4 * 1024 * 1024

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
      const found = await http.request('POST', '/admin/v1/api-keys/resolve', { body: { key } })
      return found === undefined ? undefined : parseApiKey(found)
    },
    limitSource: ({ id, ...process }) => ({
      async read(etag) {
        const found = await http.request('GET', `${limitsPath}/feed`, { etag })
        return found && parseFeed(found)
      },
      async report(report) {
        await http.request('PUT', `${limitsPath}/gateways/${encodeURIComponent(id)}`, {
          body: { ...process, ...report },
        })
      },
    }),
    close: () => http.close(),
  }
}

const limitsPath = '/admin/v1/limit-settings'

/** What a request of {@link IdentityHttp} may have. */
interface RequestParts {
  readonly body?: object
  /** Answered 304 when the resource still has it. */
  readonly etag?: string | undefined
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

  /** The object that identity answers; undefined for 204, 304 and 404. After a 401 the token is renewed once. */
  async request(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    { body, etag }: RequestParts = {},
  ): Promise<Record<string, unknown> | undefined> {
    for (let isLast = false; ; isLast = true) {
      const bearer = await this.#token.current()
      const response = await this.#pool.request({
        method,
        path: this.#base + path,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(etag === undefined ? {} : { 'if-none-match': etag }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      if (response.statusCode === 200) return parseObject(await readText(response.body), method, path)
      await response.body.dump()
      if ([204, 304, 404].includes(response.statusCode)) return undefined
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

function parseFeed({ version, etag, document, overrides, clients }: Record<string, unknown>): LimitFeed {
  if (typeof version !== 'number' || typeof etag !== 'string' || !Array.isArray(overrides) || !Array.isArray(clients))
    throw new Error('identity answered limits without version, etag, overrides and clients')
  return { version, etag, document, overrides: overrides.map(parseOverride), clients: clients.map(parseClientPolicy) }
}

function parseClientPolicy(value: unknown): ClientPolicy {
  const { client, policy } = { ...(value as Record<string, unknown>) }
  if (typeof client !== 'string' || typeof policy !== 'string')
    throw new Error('identity answered a policy of a client without client and policy')
  return { client, policy }
}

function parseOverride(value: unknown): LimitOverride {
  const { kind, id, policy, factor, until, author, createdAt, reason } = { ...(value as Record<string, unknown>) }
  if (typeof kind !== 'string' || typeof id !== 'string' || typeof until !== 'number')
    throw new Error('identity answered an override without kind, id and until')
  return {
    kind,
    id,
    policy: typeof policy === 'string' ? policy : undefined,
    factor: typeof factor === 'number' ? factor : undefined,
    until,
    author: typeof author === 'string' ? author : undefined,
    createdAt: typeof createdAt === 'number' ? createdAt : undefined,
    reason: typeof reason === 'string' ? reason : undefined,
  }
}

function isKind(value: unknown): value is ApiKey['kind'] {
  return value === 'user' || value === 'client'
}

function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
