/**
 * A web application for the customers of a product, with openid-client: users sign in for their organization, see their
 * roles in it, and confirm with a second factor before they delete anything.
 *
 *     CLIENT_ID=… CLIENT_SECRET=… node examples/sign-in/web-app.ts     # then open http://localhost:3000
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import * as client from 'openid-client'

const port = Number(process.env.PORT ?? 3000)
const origin = `http://localhost:${port}`
const callback = `${origin}/callback`
const issuer = new URL(process.env.ISSUER ?? 'http://localhost:8080')
const config = await client.discovery(
  issuer,
  process.env.CLIENT_ID ?? 'demo-web',
  process.env.CLIENT_SECRET,
  undefined,
  // For an issuer on this machine. Leave it out where the issuer has https.
  issuer.hostname === 'localhost' ? { execute: [client.allowInsecureRequests] } : {},
)

/** The sign-ins that are strong enough for what is dangerous: two factors, or a passkey. */
const strong = ['urn:gatehouse:acr:mfa', 'phr', 'phrh']
const strongForSeconds = 300

/** The claims of the ID token, and the name from userinfo. */
interface User extends client.IDToken {
  readonly name?: string
}

/** What is kept of a browser. A real application keeps it in a store, and lets it expire. */
interface Session {
  /** The authorization request that is under way: its answer is taken once, in this browser only. */
  pending?: { readonly state: string; readonly nonce: string; readonly verifier: string; readonly isStepUp: boolean }
  user?: User
}
const sessions = new Map<string, Session>()

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error)
    send(response, 400, '<h1>That did not work</h1><p><a href="/">Back</a></p>')
  })
})
server.listen(port, '127.0.0.1', () => console.log(`open ${origin}`))

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', origin)
  const id = /(?:^|; )app=([\w-]{36})/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const session = sessions.get(id)
  if (url.pathname === '/sign-in') return begin(response, { id, isStepUp: false })
  if (url.pathname === '/callback' && session) {
    const { user, isStepUp } = await finish(url, session)
    replace(response, id, { user })
    return redirect(response, isStepUp ? '/delete' : '/')
  }
  if (session?.user === undefined) return send(response, 200, '<h1>Projects</h1><a href="/sign-in">Sign in</a>')
  if (url.pathname !== '/delete') return send(response, 200, homePage(session.user))
  // What a page does not offer has to be refused as well.
  if (!isOwner(session.user)) return send(response, 403, '<h1>Only owners delete projects</h1>')
  if (!isStrong(session.user)) return begin(response, { id, isStepUp: true })
  // SameSite=Lax keeps the cookie from forms of other sites; browsers name the origin of each form as well.
  if (request.method === 'POST' && request.headers.origin === origin) return send(response, 200, '<h1>Deleted</h1>')
  send(response, 200, '<h1>Delete the project?</h1><form method="post" action="/delete"><button>Delete</button></form>')
}

/** Sends the browser to the authorization server, and keeps what the answer is compared with. */
async function begin(response: ServerResponse, { id, isStepUp }: { id: string; isStepUp: boolean }): Promise<void> {
  const pending = {
    state: client.randomState(),
    nonce: client.randomNonce(),
    verifier: client.randomPKCECodeVerifier(),
    isStepUp,
  }
  const user = sessions.get(id)?.user
  replace(response, id, { ...(user && { user }), pending })
  const essential = JSON.stringify({ id_token: { acr: { essential: true, values: strong } } })
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: callback,
    scope: 'openid profile',
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    ...(isStepUp ? { claims: essential, max_age: String(strongForSeconds) } : {}),
    // The same organization again: the user does not choose anew.
    ...(isStepUp && typeof user?.org_id === 'string' ? { organization: user.org_id } : {}),
  })
  redirect(response, url.href)
}

/** Exchanges the code. openid-client verifies the ID token, `state`, `nonce`, `iss` and, for a step-up, `auth_time`. */
async function finish(url: URL, { pending, user: before }: Session): Promise<{ user: User; isStepUp: boolean }> {
  if (pending === undefined) throw new Error('nothing was requested in this browser')
  const { state, nonce, verifier, isStepUp } = pending
  const tokens = await client.authorizationCodeGrant(config, url, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    idTokenExpected: true,
    ...(isStepUp ? { maxAge: strongForSeconds } : {}),
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('there is no ID token')
  const { name } = await client.fetchUserInfo(config, tokens.access_token, claims.sub)
  const user: User = { ...claims, ...(name !== undefined && { name }) }
  // Somebody else may have signed in instead; what was begun is not theirs.
  if (isStepUp && (user.sub !== before?.sub || user.org_id !== before.org_id)) throw new Error('another user signed in')
  return { user, isStepUp }
}

/** Whether the sign-in was strong and recent. Never trust that the authorization server did what it was asked for. */
function isStrong({ acr, auth_time: at = 0 }: client.IDToken): boolean {
  return strong.includes(String(acr)) && Date.now() / 1000 - at <= strongForSeconds
}

function isOwner({ org_roles: roles }: client.IDToken): boolean {
  return Array.isArray(roles) && roles.includes('owner')
}

function homePage(user: User): string {
  const { name, sub, org_id: organization, org_roles: roles } = user
  return `<h1>Hello ${escapeHtml(name ?? sub)}</h1>
<p>Organization: ${escapeHtml(organization ?? 'none')}. Roles: ${escapeHtml(roles ?? 'none')}.</p>
${isOwner(user) ? '<a href="/delete">Delete the project</a>' : ''}`
}

function escapeHtml(value: unknown): string {
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Gives the browser a new cookie, which prevents session fixation. */
function replace(response: ServerResponse, before: string, session: Session): void {
  const id = randomUUID()
  sessions.delete(before)
  sessions.set(id, session)
  // With https add Secure, and the prefix __Host- to the name.
  response.setHeader('set-cookie', `app=${id}; Path=/; HttpOnly; SameSite=Lax`)
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(303, { location, 'cache-control': 'no-store' }).end()
}

function send(response: ServerResponse, status: number, body: string): void {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }
  response.writeHead(status, headers).end(`<!doctype html><html lang="en"><title>Projects</title>${body}</html>`)
}
