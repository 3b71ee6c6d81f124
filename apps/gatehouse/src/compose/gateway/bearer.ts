import {
  type Bearer,
  BearerError,
  bearerToken,
  createBearer,
  createIntrospection,
  createRevocations,
  createRevocationsReader,
  createServiceToken,
  type Introspection,
  type Jwk,
  type ReadRevocations,
  type Revocations,
  type ServiceToken,
} from '@gatehouse/bearer'
import { observeBearer } from '@gatehouse/gateway'
import type { Identity } from '@gatehouse/identity'
import { type Clock, type Log, Problem, type Registry, StartError } from '@gatehouse/kit'
import { type Settings, trustOf } from '../../config/config.ts'
import { boundToIssuer } from '../identity/issuer-scopes.ts'

/** What {@link composeBearer} is composed from. */
export interface BearerParts {
  readonly settings: Settings
  /** Undefined where identity runs elsewhere. */
  readonly issuer: (() => Identity | undefined) | undefined
  readonly token: ServiceToken | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Registry
}

/** The bearer check of this process, over the keys of the identity beside it or, over HTTP, of the one elsewhere. */
export function composeBearer({ settings, issuer, token, clock, log, metrics }: BearerParts): {
  bearer: Bearer
  revocations: Revocations | undefined
} {
  const foreign = foreignBearer({ settings, clock, log, metrics })
  if (foreign) return { bearer: foreign, revocations: undefined }
  const identityUrl = settings.identityUrl ?? settings.authUrl
  const observer = observeBearer(metrics, log)
  const read = revocationReader({ identityUrl, issuer, token })
  const feed = read && createRevocations({ read, clock, observer })
  const revocations = feed && issuer ? withKeysHere(feed, issuer) : feed
  const keys = issuer
    ? { keys: () => [...(issuer()?.keys().keys ?? [])] as Jwk[] }
    : { jwksUri: `${identityUrl}/.well-known/jwks.json`, allowInsecureHttp: true }
  const introspection = introspectionAt({ settings, issuer, identityUrl, clock })
  const bearer = createBearer({
    issuer: settings.authUrl,
    audience: settings.baseUrl,
    clock,
    observer,
    ...keys,
    ...(revocations ? { revocations } : {}),
    ...(introspection ? { introspection } : {}),
  })
  return { bearer, revocations }
}

/** The check where no identity of ours is: tokens of another issuer, whose metadata tells its keys, or nobody's. */
function foreignBearer({ settings, clock, log, metrics }: Omit<BearerParts, 'issuer' | 'token'>): Bearer | undefined {
  const trust = trustOf(settings)
  if (trust !== 'issuer' && trust !== 'keys') return undefined
  const common = { clock, observer: observeBearer(metrics, log) }
  if (!settings.issuer) return noIssuer
  const { url: issuer, audiences: audience, tokenTypes, acrOrder } = settings.issuer
  try {
    return boundToIssuer(
      createBearer({ ...common, issuer, audience, tokenTypes, acrOrder }),
      settings.issuerAdminScopes,
    )
  } catch (error) {
    throw error instanceof TypeError
      ? new StartError(`ISSUER can't be used: ${error.message}`, { cause: error })
      : error
  }
}

/** Where nobody issues tokens none is good, and nothing has to be fetched to say so. */
const noIssuer: Bearer = {
  authenticate(credentials) {
    bearerToken(credentials)
    throw new BearerError('invalid_token', 'issuer')
  },
  requireSignIn() {
    throw new BearerError('invalid_token', 'issuer')
  },
  prefetch: async () => true,
  refreshKeys: async () => {},
}

/** A key that the identity beside it forgot is refused at once, before the feed is read again. */
function withKeysHere(feed: Revocations, issuer: () => Identity | undefined): Revocations {
  return {
    covers: (caller, keyId) =>
      feed.covers(caller, keyId) || (keyId !== undefined && issuer()?.isCompromisedKey(keyId) === true),
    get revokedKeys() {
      return feed.revokedKeys ?? 0
    },
    poll: () => feed.poll(),
    start: (every) => feed.start(every),
  }
}

interface FeedParts extends Pick<BearerParts, 'issuer' | 'token'> {
  readonly identityUrl: string
}

/** Where revocations are read: in this process, or with a service token where identity runs. */
function revocationReader({ identityUrl, issuer, token }: FeedParts): ReadRevocations | undefined {
  if (issuer) return (after) => readHere(issuer(), after)
  return token && createRevocationsReader({ url: `${identityUrl}/revocations`, token, allowInsecureHttp: true })
}

async function readHere(issuer: Identity | undefined, after: string | undefined) {
  try {
    return await issuer?.revocations(after)
  } catch (error) {
    if (error instanceof Problem && error.status === 410) return undefined
    throw error
  }
}

/** Where opaque tokens are asked about: in this process, or as the service client where identity runs. */
function introspectionAt({
  settings: { serviceClient },
  issuer,
  identityUrl,
  clock,
}: Pick<BearerParts, 'settings' | 'issuer' | 'clock'> & { readonly identityUrl: string }): Introspection | undefined {
  if (issuer) {
    return createIntrospection({
      introspect: async (token) => (await issuer()?.introspect(token)) ?? { active: false },
      clock,
    })
  }
  if (!serviceClient) return undefined
  return createIntrospection({
    endpoint: `${identityUrl}/introspect`,
    clientId: serviceClient.id,
    clientSecret: () => serviceClient.secret.reveal(),
    allowInsecureHttp: true,
    clock,
  })
}

/** The tokens by which this process calls the others; undefined without a service client. */
export function composeServiceToken(settings: Settings): ServiceToken | undefined {
  const { serviceClient } = settings
  if (!serviceClient) return undefined
  return createServiceToken({
    tokenEndpoint: `${settings.identityUrl ?? settings.authUrl}/token`,
    clientId: serviceClient.id,
    clientSecret: () => serviceClient.secret.reveal(),
    allowInsecureHttp: true,
  })
}
