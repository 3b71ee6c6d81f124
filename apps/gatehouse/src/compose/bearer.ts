import {
  type Bearer,
  createBearer,
  createRevocations,
  type Jwk,
  type Revocations,
  revocationsOverHttp,
  type ServiceToken,
  serviceToken,
} from '@gatehouse/bearer'
import { observeBearer } from '@gatehouse/gateway'
import type { Clock, Log, Registry } from '@gatehouse/kit'
import type { Settings } from '../config.ts'

/** What the bearer check needs of an identity that runs in this process. */
export interface LocalIssuer {
  keys(): { readonly keys: readonly object[] }
}

export interface BearerParts {
  readonly settings: Settings
  /** Undefined where identity runs elsewhere. */
  readonly issuer: (() => LocalIssuer) | undefined
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
  const identityUrl = settings.identityUrl ?? settings.authUrl
  const observer = observeBearer(metrics, log)
  const revocations =
    !issuer && token
      ? createRevocations({
          read: revocationsOverHttp({ url: `${identityUrl}/revocations`, token, allowInsecureHttp: true }),
          clock,
          observer,
        })
      : undefined
  const keys = issuer
    ? { keys: () => issuer().keys().keys as Jwk[] }
    : { jwksUri: `${identityUrl}/.well-known/jwks.json`, allowInsecureHttp: true }
  const bearer = createBearer({
    issuer: settings.authUrl,
    audience: settings.baseUrl,
    clock,
    observer,
    ...keys,
    ...(revocations ? { revocations } : {}),
  })
  return { bearer, revocations }
}

/** The tokens by which this process calls the others; undefined without a service client. */
export function composeServiceToken(settings: Settings): ServiceToken | undefined {
  const { serviceClient } = settings
  if (!serviceClient) return undefined
  return serviceToken({
    tokenEndpoint: `${settings.identityUrl ?? settings.authUrl}/token`,
    clientId: serviceClient.id,
    clientSecret: () => serviceClient.secret.reveal(),
    allowInsecureHttp: true,
  })
}
