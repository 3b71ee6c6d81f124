import type { ServiceToken } from '@gatehouse/bearer'
import { Pool } from 'undici'
import type { PlanOf } from '../model/plan.ts'
import type { ApiKey, ResolveApiKey } from './api-keys.ts'

export interface IdentityClient {
  readonly planOf: PlanOf
  readonly resolveApiKey: ResolveApiKey
  close(): Promise<void>
}

/** How long identity may take to answer, in milliseconds. */
const timeoutMs = 2_000
const maxResponseBytes = 64 * 1024

/**
 * Plans and API keys of an identity service that runs elsewhere, asked directly with the service's own token, never
 * through a gateway: `GET {identityUrl}/users/{id}`, for clients
 * `GET {identityUrl}/admin/v1/clients/{id}/plan` (scope read:users both), and `POST {identityUrl}/admin/v1/api-keys/resolve`.
 * What they return rejects when identity can't be reached or answers something else.
 */
export function createIdentityClient(identityUrl: string, token: ServiceToken): IdentityClient {
  const { origin, pathname } = new URL(identityUrl)
  const base = pathname.replace(/\/$/, '')
  const pool = new Pool(origin, { connections: 16, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })

  async function request(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<Record<string, unknown> | undefined> {
    for (let last = false; ; last = true) {
      const bearer = await token.current()
      const answer = await pool.request({
        method,
        path: base + path,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      })
      if (answer.statusCode === 200) return parseObject(await readText(answer.body), method, path)
      await answer.body.dump()
      if (answer.statusCode === 404) return undefined
      if (answer.statusCode !== 401 || last)
        throw new Error(`identity answered ${answer.statusCode} to ${method} ${path}`)
      token.discard(bearer)
    }
  }

  return {
    async planOf(subject) {
      const id = encodeURIComponent(subject)
      const found = (await request('GET', `/users/${id}`)) ?? (await request('GET', `/admin/v1/clients/${id}/plan`))
      return typeof found?.plan === 'string' ? { plan: found.plan } : undefined
    },
    async resolveApiKey(key) {
      const found = await request('POST', '/admin/v1/api-keys/resolve', { key })
      return found === undefined ? undefined : parseApiKey(found)
    },
    close: () => pool.close(),
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
