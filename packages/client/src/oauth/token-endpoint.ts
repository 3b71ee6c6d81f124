import { GatehouseError, OAuthError } from '../errors/gatehouse-error.ts'
import { parseBaseUrl } from '../http/address.ts'
import { parseRefusal } from '../http/answer.ts'
import type { Platform } from '../platform/platform.ts'
import { beginDeadline, fetchDirectly, readText } from '../platform/waiting.ts'
import { type ClientIdentity, clientAuthentication } from './client-authentication.ts'

/** Where tokens are issued, to which client. */
export interface TokenEndpointOptions extends ClientIdentity {
  /** The issuer; the address of its token endpoint is read from its metadata. https, or http on loopback. */
  readonly issuer: string
  /** The address of the token endpoint, where the metadata is not to be read. */
  readonly tokenEndpoint?: string
  /** Allows http to other hosts, on private networks. Default: false. */
  readonly allowInsecureHttp?: boolean
}

/** An issued token (RFC 6749 §5.1). */
export interface IssuedTokens {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Unix milliseconds. */
  readonly expiresAt: number
}

const timeoutMs = 10_000
const defaultLifetimeSeconds = 300

/** The token endpoint of an issuer (RFC 6749 §3.2, RFC 8414). */
export class TokenEndpoint {
  readonly #options: TokenEndpointOptions
  readonly #issuer: URL
  #address: URL | undefined

  /** @throws TypeError when an address would send credentials in the clear */
  constructor(options: TokenEndpointOptions) {
    this.#options = options
    this.#issuer = parseBaseUrl('issuer', options.issuer, options.allowInsecureHttp)
    if (options.tokenEndpoint !== undefined) this.#address = this.#secure(options.tokenEndpoint)
  }

  /**
   * Requests tokens for a grant.
   * @throws OAuthError when they are refused, another GatehouseError when there is no answer
   */
  async request(platform: Platform, grant: Readonly<Record<string, string>>): Promise<IssuedTokens> {
    const deadline = beginDeadline(platform.clock, timeoutMs)
    try {
      const address = this.#address ?? (await this.#discover(platform, deadline.signal))
      this.#address = address
      const { headers, fields } = await clientAuthentication(this.#options, this.#options.issuer, platform)
      const body = new URLSearchParams({ ...grant, ...fields }).toString()
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const init = { method: 'POST', headers: { ...type, ...headers }, body, signal: deadline.signal }
      const sentAt = platform.clock.now()
      return parseTokens(await fetchJson(platform, address, init), sentAt)
    } finally {
      deadline.end()
    }
  }

  async #discover(platform: Platform, signal: AbortSignal): Promise<URL> {
    const base = this.#issuer.href.replace(/\/$/, '')
    const found = await fetchJson(platform, new URL(`${base}/.well-known/openid-configuration`), { signal })
    // RFC 8414 §3.3: metadata of another issuer would send the secret elsewhere.
    if (found.issuer !== this.#options.issuer || typeof found.token_endpoint !== 'string')
      throw new GatehouseError(`${base} has no metadata of its own with a token endpoint`, { code: 'invalid_response' })
    return this.#secure(found.token_endpoint)
  }

  #secure(address: string): URL {
    return parseBaseUrl('tokenEndpoint', address, this.#options.allowInsecureHttp)
  }
}

type Answer = Readonly<Record<string, unknown>>

async function fetchJson(
  platform: Platform,
  url: URL,
  init: RequestInit & { readonly signal: AbortSignal },
): Promise<Answer> {
  const response = await fetchDirectly(platform, url, { ...init, cache: 'no-store' })
  const text = await readText(response, init.signal)
  const body = parseObject(text)
  if (response.ok && body !== undefined) return body
  if (response.ok) throw new GatehouseError(`${url.href} answered no JSON object`, { code: 'invalid_response' })
  if (response.status < 429 && typeof body?.error === 'string')
    throw new OAuthError(body.error, body.error_description as string | undefined)
  throw parseRefusal(response.status, response.headers, text, platform.clock.now())
}

function parseTokens(body: Answer, sentAt: number): IssuedTokens {
  const { access_token: accessToken, token_type: type, expires_in: lifetime, refresh_token: refreshToken } = body
  if (typeof accessToken !== 'string' || String(type).toLowerCase() !== 'bearer')
    throw new GatehouseError('the token endpoint answered no bearer token', { code: 'invalid_response' })
  const seconds = typeof lifetime === 'number' && lifetime > 0 ? lifetime : defaultLifetimeSeconds
  return {
    accessToken,
    refreshToken: typeof refreshToken === 'string' ? refreshToken : undefined,
    expiresAt: sentAt + seconds * 1_000,
  }
}

function parseObject(text: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Answer) : undefined
  } catch {
    return undefined
  }
}
