import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Bearer, createBearer, type Jwk, type RevocationList } from '@gatehouse/bearer'
import { createHttp, createMetrics, type Http, type ManualClock, manualClock, silentLog } from '@gatehouse/kit'
import { createLimiter } from '@gatehouse/limiter'
import { createGateway, type Gateway, type GatewayOptions } from '../../src/index.ts'

const issuer = 'https://auth.example'
const audience = 'https://api.example'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' } as Jwk

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** An access token as the token service would sign it (RFC 9068); `claims` go over the usual ones. */
function accessToken(clock: ManualClock, claims: Record<string, unknown> = {}): string {
  const now = Math.floor(clock.now() / 1000)
  const body = {
    iss: issuer,
    aud: audience,
    sub: 'u1',
    client_id: 'web',
    iat: now,
    exp: now + 900,
    jti: 'j',
    ...claims,
  }
  const signed = `${part({ alg: 'ES256', typ: 'at+jwt', kid: 'k1' })}.${part(body)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

export interface Setup {
  readonly http: Http
  readonly gateway: Gateway
  readonly clock: ManualClock
  readonly metrics: ReturnType<typeof createMetrics>
  readonly bearerCheck: Bearer
  /** The Authorization header of a token with these claims. */
  bearer(claims?: Record<string, unknown>): { authorization: string }
}

/**
 * A gateway on a clock of its own, over a local service: `/open` asks nobody, `/whoami` answers the caller,
 * `/notes` needs `read:notes`.
 */
export async function setup({
  revocations,
  ...options
}: Partial<GatewayOptions> & { readonly revocations?: RevocationList } = {}): Promise<Setup> {
  const clock = manualClock()
  const metrics = createMetrics()
  const revoking = revocations ? { revocations } : {}
  const bearerCheck = createBearer({ issuer, audience, keys: [jwk], clock, ...revoking })
  const gateway = createGateway({
    limiter: createLimiter({ clock }),
    bearer: bearerCheck,
    planOf: async () => ({ plan: 'free' }),
    metrics,
    log: silentLog,
    clock,
    ...options,
  })
  const http = createHttp({ log: silentLog })
  await http.register(gateway.plugin)
  await http.register(async (local: Http) => {
    local.get('/open', async (request) => ({ headers: request.headers }))
    local.get('/healthz', async () => ({ status: 'ok' }))
    local.get('/users/:id', async () => ({}))
    local.get('/whoami', async (request) => {
      const { scopes, ...caller } = await gateway.authenticate(request)
      return { ...caller, scopes: [...scopes] }
    })
    local.get('/notes', async (request) => ({ subject: (await gateway.authenticate(request, 'read:notes')).subject }))
  })
  return {
    http,
    gateway,
    clock,
    metrics,
    bearerCheck,
    bearer: (claims) => ({ authorization: `Bearer ${accessToken(clock, claims)}` }),
  }
}

/** A real upstream on a free port, stopped with the test. */
export async function startUpstream(
  context: { after(stop: () => Promise<void>): void },
  listener: RequestListener,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** The gateway on a real port, stopped with the test. */
export async function listen(
  context: { after(stop: () => Promise<void>): void },
  { http, gateway }: Setup,
): Promise<string> {
  const url = await http.listen({ port: 0, host: '127.0.0.1' })
  context.after(async () => {
    http.server.closeAllConnections()
    await http.close()
    await gateway.stop()
  })
  return url
}
