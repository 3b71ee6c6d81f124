import type { AudienceContext } from '../context/context.ts'
import { type Acr, acrValues, isAcr, singleFactorAcr } from '../model/authentication.ts'
import { type Client, isPublic } from '../model/client.ts'
import type { ClaimsRequest } from '../model/grants/grant.ts'
import type { Membership } from '../model/organization.ts'
import { claimsCoveredBy } from '../model/user.ts'
import { OAuthError } from './error.ts'
import { parseOrganization } from './organization.ts'
import type { Form, Parameters } from './parameters.ts'
import { checkChallenge } from './pkce.ts'
import { matchesRedirectUri } from './redirect-uri.ts'
import { readResponseParameters } from './request-object.ts'
import { parseResources } from './resource.ts'
import { isUserScope, parseScope, requireAllowedScopes } from './scope.ts'

/** Begins the `request_uri` of every pushed request (RFC 9126 §2.2). */
export const pushedPrefix = 'urn:ietf:params:oauth:request_uri:'

/** A value of the parameter prompt (OpenID Connect Core §3.1.2.1). */
export type Prompt = 'none' | 'login' | 'consent' | 'select_account'
/** How the response is returned (OAuth 2.0 Multiple Response Types §2.1, Form Post Response Mode). */
export type ResponseMode = 'query' | 'form_post'

/** Where the response goes. It must be known before any error can be reported by redirect. */
export interface Destination {
  readonly client: Client
  readonly redirectUri: string
  readonly responseMode: ResponseMode
  readonly state: string | undefined
}

/** A valid authorization request (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). */
export interface AuthorizationRequest extends Destination {
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly codeChallenge: string | undefined
  readonly nonce: string | undefined
  readonly prompts: ReadonlySet<Prompt>
  readonly maxAgeSeconds: number | undefined
  readonly acr: AcrRequest | undefined
  readonly loginHint: string | undefined
  readonly idTokenHint: string | undefined
  /** The subject that a claim of the ID token was asked to have. */
  readonly subject: string | undefined
  readonly claims: ClaimsRequest
  readonly uiLocales: string | undefined
  /** The id of the organization that it names. */
  readonly organization: string | undefined
  /** The membership that the grant is for, once the user is known. */
  readonly membership?: Membership
  /** The parameters as they were sent, to resume the request after a sign-in. */
  readonly form: Form
}

/** The classes that a client asks for, in order of preference. Unknown ones are left out. */
export interface AcrRequest {
  /** Whether the request fails without one of them (OpenID Connect Core §5.5.1.1). */
  readonly essential: boolean
  readonly values: readonly Acr[]
}

const prompts: readonly Prompt[] = ['none', 'login', 'consent', 'select_account']

/**
 * Finds the destination of the response. Nothing is redirected before it is known.
 * @throws OAuthError for a redirect URI that is not registered; shown on a page
 */
export function findDestination(client: Client, parameters: Parameters): Destination {
  const requested = parameters.get('redirect_uri')
  const only = client.redirectUris.length === 1 ? client.redirectUris[0] : undefined
  const redirectUri = requested ?? only
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing')
  const anyPort = isPublic(client)
  if (!client.redirectUris.some((registered) => matchesRedirectUri(registered, redirectUri, anyPort))) {
    throw new OAuthError('invalid_request', 'redirect_uri is not registered for this client')
  }
  const { state, responseMode } = readResponseParameters(parameters)
  return { client, redirectUri, responseMode: responseMode === 'form_post' ? 'form_post' : 'query', state }
}

/** Parses the rest of the request. @throws OAuthError, reported by redirect */
export function parseRequest(
  destination: Destination,
  parameters: Parameters,
  context: Pick<AudienceContext, 'issuer' | 'apiIdentifier'>,
): AuthorizationRequest {
  const { client } = destination
  requireSupported(client, parameters)
  const scopes = parseScopes(client, parameters)
  if (parameters.get('response_type') === undefined && scopes.includes('openid')) {
    throw new OAuthError('invalid_request', 'response_type is missing; it must be code with the scope openid')
  }
  const codeChallenge = checkChallenge(parameters.get('code_challenge'), parameters.get('code_challenge_method'))
  if (codeChallenge === undefined && client.requirePkce) {
    throw new OAuthError('invalid_request', 'code_challenge is missing; PKCE with S256 is required')
  }
  return {
    ...destination,
    scopes,
    resources: parseResources(context, client, scopes, parameters.getAll('resource')),
    codeChallenge,
    nonce: parameters.get('nonce'),
    prompts: parsePrompts(parameters),
    maxAgeSeconds: parseMaxAge(parameters),
    loginHint: parameters.get('login_hint'),
    idTokenHint: parameters.get('id_token_hint'),
    ...parseClaims(client, scopes, parameters),
    uiLocales: parameters.get('ui_locales'),
    organization: parseOrganization(client.organizations, parameters.get('organization')),
    form: parameters.form,
  }
}

function requireSupported(client: Client, parameters: Parameters): void {
  if (!client.grantTypes.includes('authorization_code')) {
    throw new OAuthError('unauthorized_client', 'the client is not registered for the authorization_code grant')
  }
  if (parameters.get('request') !== undefined) {
    throw new OAuthError(
      'request_not_supported',
      'request objects are not supported; use a pushed authorization request',
    )
  }
  const responseType = parameters.get('response_type')
  if (responseType !== undefined && responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code')
  }
  const mode = parameters.get('response_mode')
  if (mode !== undefined && mode !== 'query' && mode !== 'form_post') {
    throw new OAuthError('invalid_request', 'response_mode must be query or form_post')
  }
}

/** Without a requested scope: all that the client is registered for, except the scopes of OpenID Connect. */
function parseScopes(client: Client, parameters: Parameters): string[] {
  const requested = parseScope(parameters.get('scope'))
  return requested.length > 0
    ? requireAllowedScopes(requested, client.scopes)
    : client.scopes.filter((scope) => !isUserScope(scope))
}

function parsePrompts(parameters: Parameters): ReadonlySet<Prompt> {
  const requested = (parameters.get('prompt') ?? '').split(' ').filter((one) => one !== '')
  const known = prompts.filter((prompt) => requested.includes(prompt))
  if (known.length < new Set(requested).size) {
    throw new OAuthError('invalid_request', `prompt must be one of ${prompts.join(', ')}`)
  }
  if (known.includes('none') && known.length > 1) {
    throw new OAuthError('invalid_request', 'prompt none must not be combined with other values')
  }
  return new Set(known)
}

function parseMaxAge(parameters: Parameters): number | undefined {
  const text = parameters.get('max_age')
  if (text === undefined) return undefined
  if (!/^\d{1,10}$/.test(text)) throw new OAuthError('invalid_request', 'max_age must be a whole number of seconds')
  return Number(text)
}

/**
 * The parameter claims (OpenID Connect Core §5.5): those of the scopes that the client is registered for. Others are
 * ignored without an error, as §5.5.1 requires for claims that are not returned.
 */
function parseClaims(
  client: Client,
  scopes: readonly string[],
  parameters: Parameters,
): Pick<AuthorizationRequest, 'claims' | 'subject' | 'acr'> {
  const text = parameters.get('claims')
  const voluntary = parseAcr({ values: (parameters.get('acr_values') ?? '').split(' ') })
  if (text === undefined) return { claims: { userinfo: [], idToken: [] }, subject: undefined, acr: voluntary }
  const requested = parseObject(text)
  const registered = scopes.includes('openid') ? [...claimsCoveredBy(client.scopes)] : []
  const names = (part: unknown) =>
    part !== null && typeof part === 'object' ? registered.filter((name) => Object.hasOwn(part, name)) : []
  const idToken = requested.id_token as { sub?: { value?: unknown }; acr?: RequestedAcr | null } | null | undefined
  const value = idToken?.sub?.value
  return {
    claims: { userinfo: names(requested.userinfo), idToken: names(requested.id_token) },
    subject: typeof value === 'string' ? value : undefined,
    acr: (idToken?.acr && parseAcr(idToken.acr)) ?? voluntary,
  }
}

interface RequestedAcr {
  readonly essential?: unknown
  readonly value?: unknown
  readonly values?: unknown
}

/**
 * An essential acr of which no value is known is a failed authentication (OpenID Connect Core §5.5.1.1); other requests
 * are voluntary.
 */
function parseAcr({ essential, value, values }: RequestedAcr): AcrRequest | undefined {
  const wanted: readonly unknown[] = Array.isArray(values) ? values : value === undefined ? [] : [value]
  const known = wanted.filter(isAcr)
  if (essential !== true) return known.length === 0 ? undefined : { essential: false, values: known }
  if (wanted.length === 0) return { essential: true, values: [singleFactorAcr] }
  if (known.length > 0) return { essential: true, values: known }
  throw new OAuthError(
    'unmet_authentication_requirements',
    `the essential acr cannot be met; the values are ${acrValues.join(', ')}`,
  )
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // reported below
  }
  throw new OAuthError('invalid_request', 'claims must be a JSON object')
}
