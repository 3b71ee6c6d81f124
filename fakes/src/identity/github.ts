import { createHash, randomBytes } from 'node:crypto'
import { type FakeRequest, type HttpFake, type Seen, startHttpFake } from '../server/http-server.ts'
import type { CodeExchange } from './oidc.ts'

/** An email address of a GitHub user. */
export interface GitHubAddress {
  readonly email: string
  readonly primary: boolean
  readonly verified: boolean
}

/** The user who is signed in at GitHub. */
export interface GitHubAccount {
  readonly id: number
  readonly login: string
  readonly name: string | null
  readonly emails: readonly GitHubAddress[]
}

/** An error of GitHub's token endpoint, which comes with status 200. */
export type GitHubError = 'bad_verification_code' | 'incorrect_client_credentials' | 'redirect_uri_mismatch'

/** The options of {@link startGitHub}. */
export interface GitHubOptions {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUri: string
}

/** GitHub, at the addresses of an Enterprise Server. */
export interface GitHubFake extends HttpFake<CodeExchange> {
  user: GitHubAccount
  /** The error of every exchange from now on; undefined: none. */
  error: GitHubError | undefined
}

interface State {
  readonly options: GitHubOptions
  readonly fake: Pick<GitHubFake, 'user' | 'error'>
  /** The PKCE challenges of codes that were not used. */
  readonly codes: Map<string, string>
  readonly tokens: Set<string>
}

/** Starts a strict GitHub whose user is signed in and consents at once. Its errors have status 200. */
export async function startGitHub(options: GitHubOptions): Promise<GitHubFake> {
  const user = { id: 583_231, login: 'octocat', name: 'Mona Lisa', emails: [] }
  const state: State = { options, fake: { user, error: undefined }, codes: new Map(), tokens: new Set() }
  const http = await startHttpFake<CodeExchange>({
    kind: 'github',
    gone: { status: 410 },
    see: (request) => route(state, request),
  })
  return Object.assign(state.fake, http)
}

const refused = (why: string, status = 400): Seen<CodeExchange> => ({
  kind: 'refused',
  why,
  answer: { status, body: { message: why } },
})

function route(state: State, request: FakeRequest): Seen<CodeExchange> {
  if (request.path === '/login/oauth/authorize') return authorize(state, request.query)
  if (request.path === '/login/oauth/access_token' && request.method === 'POST') return exchange(state, request)
  if (request.path.startsWith('/api/v3/')) return api(state, request)
  return { kind: 'aside', answer: { status: 404 } }
}

function authorize({ options, codes }: State, query: URLSearchParams): Seen<CodeExchange> {
  if (query.get('client_id') !== options.clientId) return refused('client_id is unknown', 404)
  if (query.get('redirect_uri') !== options.redirectUri) return refused('redirect_uri is not registered')
  if (query.get('scope') !== 'read:user user:email') return refused('unexpected scope')
  if (query.get('code_challenge_method') !== 'S256') return refused('code_challenge_method must be S256')
  const code = randomBytes(10).toString('hex')
  codes.set(code, query.get('code_challenge') ?? '')
  const parameters = new URLSearchParams({ code, state: query.get('state') ?? '' })
  return { kind: 'aside', answer: { status: 302, headers: { location: `${options.redirectUri}?${parameters}` } } }
}

function exchange({ options, fake, codes, tokens }: State, { headers, body }: FakeRequest): Seen<CodeExchange> {
  const form = new URLSearchParams(body.toString())
  const fail = (error: GitHubError): Seen<CodeExchange> => ({
    kind: 'refused',
    why: error,
    answer: { status: 200, body: { error, error_description: 'See the documentation.' } },
  })
  if (headers.accept !== 'application/json') return refused('the response would be a form: send Accept')
  if (fake.error !== undefined) return fail(fake.error)
  if (form.get('client_id') !== options.clientId || form.get('client_secret') !== options.clientSecret)
    return fail('incorrect_client_credentials')
  if (form.get('redirect_uri') !== options.redirectUri) return fail('redirect_uri_mismatch')
  const code = form.get('code') ?? ''
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  if (codes.get(code) !== challenge) return fail('bad_verification_code')
  codes.delete(code)
  const token = `gho_${randomBytes(18).toString('hex')}`
  tokens.add(token)
  const answer = { status: 200, body: { access_token: token, token_type: 'bearer', scope: 'read:user,user:email' } }
  return { kind: 'message', message: { clientId: options.clientId, sub: String(fake.user.id) }, answer }
}

function api({ fake, tokens }: State, { path, headers }: FakeRequest): Seen<CodeExchange> {
  if (!headers['user-agent']) return refused('a User-Agent header is required', 403)
  if (!tokens.has(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '')) return refused('Bad credentials', 401)
  const { emails, ...user } = fake.user
  if (path === '/api/v3/user/emails') return { kind: 'aside', answer: { status: 200, body: emails } }
  const avatar_url = `https://avatars.githubusercontent.com/u/${user.id}`
  return { kind: 'aside', answer: { status: 200, body: { ...user, avatar_url } } }
}
