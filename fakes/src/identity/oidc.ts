import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { type FakeAnswer, type FakeRequest, type HttpFake, type Seen, startHttpFake } from '../server/http-server.ts'
import { type ClientCredentials, findClientFault } from './client-authentication.ts'
import { createIdToken } from './id-token.ts'
import { createLogoutToken, endSession, type LogoutFacts, type Logouts } from './logout.ts'
import type { Misbehaviour } from './misbehaviour.ts'

/** The user who is signed in at the provider: claims of the ID token, with `sub`. */
export type UpstreamUser = Readonly<Record<string, unknown>> & { readonly sub: string }

/** An exchange of a code that was all right. */
export interface CodeExchange {
  readonly clientId: string
  readonly sub: string
}

/** The options of {@link startOidc}. */
export interface OidcOptions {
  readonly client: ClientCredentials
  readonly redirectUris: readonly string[]
  readonly postLogoutRedirectUris?: readonly string[]
  readonly port?: number
  /** Below the address of the fake. Default: none. */
  readonly issuerPath?: string
  /** The issuer that the metadata and tokens name. Default: the address of the fake. `{tid}` is that of the user. */
  readonly issuer?: string
  /** Left out of the ID token, and at the userinfo endpoint only. */
  readonly userinfoOnly?: readonly string[]
  /** Whether responses name the issuer (RFC 9207). Default: true. */
  readonly issParameter?: boolean
  /** Requires `response_mode=form_post`, as Apple does. */
  readonly formPost?: boolean
}

/** An OpenID provider that runs here. */
export interface OidcFake extends HttpFake<CodeExchange> {
  user: UpstreamUser
  misbehaviour: Misbehaviour | undefined
  /** How many seconds ago the user signed in, where a request does not want a new sign-in. */
  signedInAgo: number
  /** What is posted beside the code by `form_post`, such as Apple's `user`. */
  extraFields: Readonly<Record<string, string>>
  /** The authorization requests that were all right. */
  readonly authorizations: readonly URLSearchParams[]
  /** The logout requests that were all right. */
  readonly logouts: readonly URLSearchParams[]
  /** A logout token (OpenID Connect Back-Channel Logout §2.4) about the user who is signed in. */
  createLogoutToken(facts?: LogoutFacts): string
}

interface IssuedCode {
  readonly sub: string
  readonly nonce: string
  readonly redirectUri: string
  readonly challenge: string
  /** When the user signed in, in Unix seconds; undefined where the request did not ask for it. */
  readonly authTime: number | undefined
  used: boolean
}

interface State {
  readonly options: OidcOptions
  readonly fake: { url: string } & Pick<OidcFake, 'user' | 'misbehaviour' | 'signedInAgo' | 'extraFields'>
  readonly codes: Map<string, IssuedCode>
  readonly accessTokens: Map<string, UpstreamUser>
  readonly authorizations: URLSearchParams[]
  readonly logouts: Logouts
  readonly keys: ReturnType<typeof createKeys>
}

function createKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const other: KeyObject = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  return { privateKey, other, jwk: { ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'RS256', use: 'sig' } }
}

/**
 * Starts a strict OpenID provider whose user is signed in and consents at once: it checks the redirect URI, PKCE, nonce
 * and client authentication, and accepts each code once.
 */
export async function startOidc(options: OidcOptions): Promise<OidcFake> {
  const state: State = {
    options,
    fake: { url: '', user: { sub: 'upstream-1' }, misbehaviour: undefined, signedInAgo: 0, extraFields: {} },
    codes: new Map(),
    accessTokens: new Map(),
    authorizations: [],
    logouts: { idTokens: new Set(), requests: [] },
    keys: createKeys(),
  }
  const http = await startHttpFake<CodeExchange>({
    kind: 'oidc',
    ...(options.port === undefined ? {} : { port: options.port }),
    gone: { status: 410 },
    see: (request) => route(state, request),
  })
  state.fake.url = http.url
  const issued = (facts: LogoutFacts = {}) =>
    createLogoutToken(
      { issuer: issuerOf(state), audience: options.client.id, user: state.fake.user, ...state.keys },
      facts,
    )
  const { authorizations, logouts } = state
  return Object.assign(state.fake, { ...http, authorizations, logouts: logouts.requests, createLogoutToken: issued })
}

function route(state: State, request: FakeRequest): Seen<CodeExchange> {
  const { issuerPath = '' } = state.options
  const path = request.path.startsWith(issuerPath) ? request.path.slice(issuerPath.length) : request.path
  if (path === '/.well-known/openid-configuration') {
    const behaviour = state.fake.misbehaviour === 'hang_metadata' ? 'hang' : undefined
    return { kind: 'aside', answer: { status: 200, body: metadata(state) }, behaviour }
  }
  if (path === '/jwks') return { kind: 'aside', answer: { status: 200, body: { keys: [state.keys.jwk] } } }
  if (path === '/userinfo') return userinfo(state, request)
  if (path === '/token' && request.method === 'POST') return exchange(state, request)
  if (path === '/authorize' && request.method === 'GET') return authorize(state, request.query)
  if (path === '/logout' && request.method === 'GET') return endSession(state.options, state.logouts, request.query)
  return { kind: 'aside', answer: { status: 404 } }
}

function base({ options: { issuerPath = '' }, fake }: State): string {
  return `${fake.url}${issuerPath}`
}

function issuerOf(state: State): string {
  return state.options.issuer ?? base(state)
}

function metadata(state: State) {
  const at = base(state)
  return {
    issuer: issuerOf(state).replace('{tid}', '{tenantid}'),
    authorization_endpoint: `${at}/authorize`,
    token_endpoint: `${at}/token`,
    jwks_uri: `${at}/jwks`,
    userinfo_endpoint: `${at}/userinfo`,
    ...(state.fake.misbehaviour === 'no_end_session' ? {} : { end_session_endpoint: `${at}/logout` }),
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: [state.options.client.method],
    authorization_response_iss_parameter_supported: state.options.issParameter ?? true,
  }
}

const refused = (why: string, status = 400): Seen<CodeExchange> => ({
  kind: 'refused',
  why,
  answer: { status, body: { error: why } },
})

function authorize(state: State, query: URLSearchParams): Seen<CodeExchange> {
  const { client, redirectUris, formPost = false } = state.options
  const redirectUri = query.get('redirect_uri') ?? ''
  if (query.get('client_id') !== client.id) return refused('client_id is unknown')
  if (!redirectUris.includes(redirectUri)) return refused('redirect_uri is not registered')
  if (query.get('response_type') !== 'code') return refused('response_type must be code')
  if (!(query.get('scope') ?? '').split(' ').includes('openid')) return refused('scope must contain openid')
  if ((query.get('state') ?? '').length < 22) return refused('state is too short')
  if ((query.get('nonce') ?? '').length < 22) return refused('nonce is too short')
  if (query.get('code_challenge_method') !== 'S256') return refused('code_challenge_method must be S256')
  if (!/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')) return refused('code_challenge is malformed')
  if (formPost && query.get('response_mode') !== 'form_post') return refused('response_mode must be form_post')
  state.authorizations.push(query)
  return { kind: 'aside', answer: respond(state, redirectUri, query) }
}

function respond(state: State, redirectUri: string, query: URLSearchParams): FakeAnswer {
  const { misbehaviour, user, signedInAgo, extraFields } = state.fake
  const parameters: Record<string, string> = { state: query.get('state') ?? '' }
  if (misbehaviour === 'denies') parameters.error = 'access_denied'
  else {
    parameters.code = randomBytes(24).toString('base64url')
    state.codes.set(parameters.code, {
      sub: user.sub,
      nonce: query.get('nonce') ?? '',
      redirectUri,
      challenge: query.get('code_challenge') ?? '',
      authTime: authTimeOf(query, signedInAgo),
      used: false,
    })
  }
  if (misbehaviour !== 'no_iss_parameter' && state.options.issParameter !== false)
    parameters.iss = misbehaviour === 'wrong_iss_parameter' ? 'https://other.example' : issuerOf(state)
  if (query.get('response_mode') === 'form_post') return formPage(redirectUri, { ...parameters, ...extraFields })
  return { status: 302, headers: { location: `${redirectUri}?${new URLSearchParams(parameters)}` } }
}

/** The user is signed in, and signs in again where the request wants it (OpenID Connect Core §3.1.2.1). */
function authTimeOf(query: URLSearchParams, signedInAgo: number): number | undefined {
  const maxAge = query.get('max_age')
  if (maxAge === null) return undefined
  const isNew = query.get('prompt')?.split(' ').includes('login') || Number(maxAge) < signedInAgo
  return Math.floor(Date.now() / 1000) - (isNew ? 0 : signedInAgo)
}

/** OAuth 2.0 Form Post Response Mode. */
function formPage(action: string, fields: Readonly<Record<string, string>>): FakeAnswer {
  const encode = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${encode(value)}">`,
  )
  const form = `<form method="post" action="${action}">${inputs.join('')}<button>Continue</button></form>`
  const script = '<script>document.forms[0].submit()</script>'
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: `<!doctype html><html lang="en"><title>Provider</title><link rel="icon" href="data:,">${form}${script}</html>`,
  }
}

function exchange(state: State, request: FakeRequest): Seen<CodeExchange> {
  const form = new URLSearchParams(request.body.toString())
  const place = { endpoint: `${base(state)}/token`, issuer: issuerOf(state) }
  const fault = findClientFault(state.options.client, request, form, place)
  if (fault !== undefined) return refused(`invalid_client: ${fault}`, 401)
  const code = state.codes.get(form.get('code') ?? '')
  if (form.get('grant_type') !== 'authorization_code' || code === undefined)
    return refused('invalid_grant: unknown code')
  if (code.used) return refused('invalid_grant: the code was used')
  code.used = true
  if (form.get('redirect_uri') !== code.redirectUri) return refused('invalid_grant: another redirect_uri')
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  if (challenge !== code.challenge) return refused('invalid_grant: the code_verifier does not match')
  const accessToken = randomBytes(16).toString('base64url')
  state.accessTokens.set(accessToken, state.fake.user)
  const { misbehaviour, user } = state.fake
  const claims = Object.entries(user).filter(([name]) => !state.options.userinfoOnly?.includes(name))
  const idToken = createIdToken({
    issuer: issuerOf(state).replace('{tid}', String(user.tid)),
    audience: state.options.client.id,
    nonce: code.nonce,
    authTime: code.authTime,
    claims: Object.fromEntries(claims),
    keys: state.keys,
    misbehaviour,
  })
  state.logouts.idTokens.add(idToken)
  const body = {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: 300,
    ...(misbehaviour === 'no_id_token' ? {} : { id_token: idToken }),
  }
  const seen = { message: { clientId: state.options.client.id, sub: user.sub }, answer: { status: 200, body } }
  return misbehaviour === 'hang_token'
    ? { kind: 'aside', answer: seen.answer, behaviour: 'hang' }
    : { kind: 'message', ...seen }
}

function userinfo(state: State, { headers }: FakeRequest): Seen<CodeExchange> {
  const user = state.accessTokens.get(/^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? '')
  if (user === undefined) return refused('invalid_token', 401)
  const body = state.fake.misbehaviour === 'other_userinfo' ? { ...user, sub: 'somebody-else' } : user
  return { kind: 'aside', answer: { status: 200, body } }
}
