/**
 * A product with the inbox in its header: users sign in (authorization code with PKCE), the page asks this server for
 * their access token, and the component talks to Gatehouse by itself.
 *
 *     npm run build -w packages/inbox       # in your own project: install what `npm pack -w packages/inbox` makes
 *     node examples/inbox/web-app.ts        # then open http://localhost:3000
 */
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const port = Number(process.env.PORT ?? 3000)
const client_id = process.env.CLIENT_ID ?? 'demo-web'
const redirect_uri = `http://localhost:${port}/callback`
const scope = 'openid offline_access read:notifications write:preferences'
/** The component as it was installed. */
const component = new URL('.', import.meta.resolve('@gatehouse/inbox'))

interface Session {
  readonly userId: string
  access_token: string
  refresh_token: string
}

const begun = new Map<string, string>()
const sessions = new Map<string, Session>()

const server = createServer(async (request, response) => {
  const url = new URL(request.url ?? '/', redirect_uri)
  const session = sessions.get(/\bsession=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1] ?? '')
  const [, module] = /^\/gatehouse-inbox\/(\w+\.js)$/.exec(url.pathname) ?? []
  try {
    if (module) response.setHeader('content-type', 'text/javascript').end(await readFile(new URL(module, component)))
    else if (url.pathname === '/callback') {
      const cookie = `session=${await finish(url.searchParams)}; HttpOnly; SameSite=Lax; Path=/`
      response.writeHead(302, { location: '/', 'set-cookie': cookie }).end()
    } else if (url.pathname === '/token') {
      if (!session) return response.writeHead(401).end()
      if (url.searchParams.has('renew')) await renew(session)
      response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(session.access_token)
    } else if (!session) response.writeHead(302, { location: begin() }).end()
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(await page(session.userId))
  } catch (error) {
    console.error(error)
    response.writeHead(400).end('That did not work; please begin again.')
  }
})
server.listen(port, '127.0.0.1', () => console.log(`open http://localhost:${port}`))

async function page(userId: string): Promise<string> {
  const values: Record<string, string> = { baseUrl: issuer, userId }
  const text = await readFile(new URL('page.html', import.meta.url), 'utf8')
  return text.replaceAll(/\{(\w+)\}/g, (whole, name) =>
    (values[name] ?? whole).replaceAll(/[&<>"]/g, encodeURIComponent),
  )
}

function begin(): string {
  const [state, code_verifier] = [randomBytes(16).toString('base64url'), randomBytes(32).toString('base64url')]
  begun.set(state, code_verifier)
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const request = { response_type: 'code', client_id, scope, redirect_uri, state, code_challenge }
  return `${issuer}/authorize?${new URLSearchParams(request)}`
}

/** Ends a sign-in; answers the new session's id. */
async function finish(answer: URLSearchParams): Promise<string> {
  const [state, code] = [answer.get('state') ?? '', answer.get('code')]
  const code_verifier = begun.get(state)
  if (code_verifier === undefined || answer.get('iss') !== issuer) throw new Error('this answer is not for us')
  begun.delete(state)
  if (code === null) throw new Error(answer.get('error_description') ?? 'no code')
  const tokens = await ask({ grant_type: 'authorization_code', code, code_verifier, redirect_uri })
  // It came straight from the token endpoint; whoever gets one another way verifies its signature.
  const { sub } = JSON.parse(Buffer.from(tokens.id_token?.split('.')[1] ?? '', 'base64url').toString())
  const id = randomBytes(32).toString('base64url')
  sessions.set(id, { ...tokens, userId: sub })
  return id
}

async function renew(session: Session): Promise<void> {
  Object.assign(session, await ask({ grant_type: 'refresh_token', refresh_token: session.refresh_token }))
}

async function ask(form: Record<string, string>) {
  const answer = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams({ ...form, client_id }) })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as { access_token: string; refresh_token: string; id_token?: string }
}
