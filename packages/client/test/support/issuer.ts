import { json, problem, type Reaction, ScriptedServer, type SeenRequest } from './scripted-server.ts'

export const issuer = 'https://auth.example.com'
export const read = { method: 'GET', path: '/v1/things' }
export const invalidToken = () => problem(401, {}, { 'www-authenticate': 'Bearer realm="api", error="invalid_token"' })

/** An issuer that numbers its tokens, and an API that reacts to them. */
export class Issuer {
  issued = 0
  lifetimeSeconds = 900
  /** What the token endpoint answers instead. */
  failure: (() => Reaction) | undefined
  /** How long it takes for a token. */
  delayMs = 0
  readonly tokenRequests: SeenRequest[] = []
  readonly server: ScriptedServer

  constructor(api: (token: string | null) => Reaction = () => json(1)) {
    this.server = new ScriptedServer(async (request) => {
      const { pathname, host } = request.url
      if (host !== 'auth.example.com') return api(request.headers.get('authorization'))
      if (pathname === '/.well-known/openid-configuration') return json({ issuer, token_endpoint: `${issuer}/token` })
      this.tokenRequests.push(request)
      if (this.failure) return this.failure()
      const nth = ++this.issued
      if (this.delayMs > 0) await new Promise<void>((resolve) => this.server.clock.after(this.delayMs, resolve))
      const token = { access_token: `t${nth}`, token_type: 'Bearer', expires_in: this.lifetimeSeconds }
      return json({ ...token, refresh_token: `r${nth}` })
    })
  }
}
