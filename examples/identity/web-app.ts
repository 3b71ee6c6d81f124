/**
 * A web application whose users sign in (authorization code with PKCE, OpenID Connect). It needs nothing but Node; a
 * library such as openid-client checks more, the signature of the ID token first of all.
 *
 *     node examples/identity/web-app.ts     # then open http://localhost:3000; a confidential client sets CLIENT_SECRET
 */
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const port = Number(process.env.PORT ?? 3000)
const secret = process.env.CLIENT_SECRET
const client = { client_id: process.env.CLIENT_ID ?? 'demo-web', ...(secret ? { client_secret: secret } : {}) }
const redirect_uri = `http://localhost:${port}/callback`

/** What was begun, by state; a real application keeps it in the user's session. */
const begun = new Map<string, string>()

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', redirect_uri)
  try {
    if (url.pathname === '/callback') response.end(await finish(url.searchParams))
    else response.writeHead(302, { location: begin() }).end()
  } catch (error) {
    response.writeHead(400).end(String(error))
  }
})
server.listen(port, '127.0.0.1', () => console.log(`open http://localhost:${port}`))

function begin(): string {
  const [state, code_verifier] = [randomBytes(16).toString('base64url'), randomBytes(32).toString('base64url')]
  begun.set(state, code_verifier)
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const request = { response_type: 'code', scope: 'openid profile email', redirect_uri, state, code_challenge }
  return `${issuer}/authorize?${new URLSearchParams({ client_id: client.client_id, ...request })}`
}

async function finish(answer: URLSearchParams): Promise<string> {
  const code_verifier = begun.get(answer.get('state') ?? '')
  if (code_verifier === undefined || answer.get('iss') !== issuer) throw new Error('this answer is not for us')
  begun.delete(answer.get('state') ?? '')
  const code = answer.get('code')
  if (code === null) throw new Error(answer.get('error_description') ?? 'no code')
  const form = { grant_type: 'authorization_code', code, code_verifier, redirect_uri, ...client }
  const tokens = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token } = (await tokens.json()) as { access_token: string }
  const headers = { authorization: `Bearer ${access_token}` }
  const user = (await (await fetch(`${issuer}/userinfo`, { headers })).json()) as { sub: string; name?: string }
  return `Hello ${user.name ?? user.sub}`
}
