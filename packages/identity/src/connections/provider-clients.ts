import { type Clock, type KeyRing, TimeoutError, withinTime } from '@gatehouse/kit'
import { createRemoteJWKSet, type JWTVerifyGetKey, customFetch as keySetFetch } from 'jose'
import { allowInsecureRequests, Configuration, customFetch, discovery, enableNonRepudiationChecks } from 'openid-client'
import type { Connection } from '../model/connection.ts'
import { createClientAuthentication } from './client-authentication.ts'
import { asCustomFetch, createProviderFetch, type ProviderFetch, providerCallMs } from './provider-fetch.ts'
import { openSecrets } from './secrets.ts'

/** Older metadata of a provider is read again. */
const metadataMs = 3_600_000
/** The longest that a browser waits for a provider, over all calls, in milliseconds. */
const exchangeMs = 8_000
/** Requests that may wait for one provider at a time. */
const maxWaiting = 100

/** The provider did not answer in time, or too many requests wait for it. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

interface Cached {
  /** Which version of the connection it was made from. */
  readonly updatedAt: number
  readonly madeAt: number
  readonly configuration: Promise<Configuration>
  /** The keys that sign logout tokens; undefined until one is verified. */
  keys?: JWTVerifyGetKey
}

/** What {@link ProviderClients} needs. */
export interface ProviderClientsOptions {
  readonly clock: Clock
  readonly encryptionKey: KeyRing
  /** Allows providers on this machine, over http too. */
  readonly loopback: boolean
  /** Default: {@link createProviderFetch}. */
  readonly send?: ProviderFetch
}

/**
 * The clients of connections at their providers. Metadata is read when a connection is used first and cached for an
 * hour; a provider that hangs keeps no request longer than a bound, and no more than a bound of them.
 */
export class ProviderClients {
  readonly #options: ProviderClientsOptions
  readonly #cached = new Map<string, Cached>()
  readonly #waiting = new Map<string, number>()
  /** Sends a request to a provider. */
  readonly send: ProviderFetch
  readonly clock: Clock

  constructor(options: ProviderClientsOptions) {
    this.#options = options
    this.clock = options.clock
    this.send = options.send ?? createProviderFetch(options.loopback)
  }

  /** The client of a connection. Concurrent callers share one read of the metadata; a failed one is not kept. */
  get(connection: Connection): Promise<Configuration> {
    return this.#find(connection).configuration
  }

  /** The keys of a connection's provider: read when an unknown one is named, at most every 30 seconds. */
  async keys(connection: Connection): Promise<JWTVerifyGetKey> {
    const cached = this.#find(connection)
    const { jwks_uri: address } = (await cached.configuration).serverMetadata()
    if (address === undefined) throw new Error('the metadata of the provider has no jwks_uri')
    cached.keys ??= createRemoteJWKSet(new URL(address), {
      timeoutDuration: providerCallMs,
      [keySetFetch]: (url, { headers }) =>
        asCustomFetch(this.send)(url, {
          method: 'GET',
          headers: Object.fromEntries(headers),
          body: undefined,
          redirect: 'manual',
        }),
    })
    return cached.keys
  }

  #find(connection: Connection): Cached {
    const known = this.#cached.get(connection.id)
    const now = this.#options.clock.now()
    if (known?.updatedAt === connection.updatedAt && Math.abs(now - known.madeAt) < metadataMs) return known
    const configuration = this.#create(connection)
    const cached: Cached = { updatedAt: connection.updatedAt, madeAt: now, configuration }
    this.#cached.set(connection.id, cached)
    configuration.catch(() => {
      if (this.#cached.get(connection.id) === cached) this.#cached.delete(connection.id)
    })
    return cached
  }

  /** Runs calls to the provider of a connection within the bounds. @throws ProviderUnavailable */
  async within<Result>({ id }: Pick<Connection, 'id'>, work: () => Promise<Result>): Promise<Result> {
    const waiting = this.#waiting.get(id) ?? 0
    if (waiting >= maxWaiting) throw new ProviderUnavailable(`more than ${maxWaiting} requests wait for ${id}`)
    this.#waiting.set(id, waiting + 1)
    try {
      return await withinTime(exchangeMs, `the answer of ${id}`, work())
    } catch (error) {
      if (error instanceof TimeoutError) throw new ProviderUnavailable(error.message)
      throw error
    } finally {
      this.#waiting.set(id, (this.#waiting.get(id) ?? 1) - 1)
    }
  }

  async #create(connection: Connection): Promise<Configuration> {
    const { clock, encryptionKey, loopback } = this.#options
    const { settings } = connection
    const authentication = await createClientAuthentication(connection, openSecrets(encryptionKey, connection), clock)
    const send = asCustomFetch(this.send)
    if (settings.kind === 'github') {
      const configuration = new Configuration(gitHubMetadata(settings.issuer), settings.client_id, {}, authentication)
      configuration[customFetch] = send
      configuration.timeout = providerCallMs / 1000
      if (loopback) allowInsecureRequests(configuration)
      return configuration
    }
    return discovery(new URL(issuerOf(connection)), settings.client_id, {}, authentication, {
      [customFetch]: send,
      timeout: providerCallMs / 1000,
      // Signatures of ID tokens are verified although they come from the token endpoint over TLS.
      execute: [enableNonRepudiationChecks, ...(loopback ? [allowInsecureRequests] : [])],
    })
  }
}

const issuers = {
  google: 'https://accounts.google.com',
  apple: 'https://appleid.apple.com',
  microsoft: 'https://login.microsoftonline.com',
} as const

/** The issuer whose metadata is read. Of several tenants at Entra the metadata is common, and each token names its own. */
function issuerOf({ settings: { kind, issuer, tenants = [] } }: Connection): string {
  if (kind === 'google' || kind === 'apple') return issuer ?? issuers[kind]
  if (kind !== 'microsoft') return issuer ?? ''
  return `${issuer ?? issuers.microsoft}/${tenants.length === 1 ? tenants[0] : 'organizations'}/v2.0`
}

/** GitHub's endpoints: OAuth 2.0 without ID tokens. */
function gitHubMetadata(address: string = 'https://github.com') {
  const issuer = `${address}/login/oauth`
  return { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/access_token` }
}
