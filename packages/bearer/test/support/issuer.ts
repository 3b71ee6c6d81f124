import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { type BearerOptions, createBearer } from '../../src/index.ts'

export const issuer = 'https://auth.example'
export const audience = 'https://api.example'

export interface SigningKey {
  readonly alg: string
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

/** Keys of jose's making: what signs here shares no code with what verifies. */
export async function signingKey(alg = 'ES256', kid = `${alg}-1`): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export function manualClock(start = Date.UTC(2026, 0, 1)) {
  let current = start
  return {
    now: () => current,
    advance(milliseconds: number) {
      current += milliseconds
    },
  }
}

export type ManualClock = ReturnType<typeof manualClock>

/** The claims of a good access token that lives for 15 minutes. */
export function goodClaims(now: number): Record<string, unknown> {
  const iat = Math.floor(now / 1000)
  return {
    iss: issuer,
    aud: audience,
    sub: 'alice',
    client_id: 'shop',
    scope: 'read:users write:notifications',
    iat,
    exp: iat + 900,
    jti: 'token-1',
    grant_id: 'grant-1',
  }
}

/** Signs claims as they are; header members can be added, changed, or removed with undefined. */
export function sign(key: SigningKey, claims: object, header: object = {}): Promise<string> {
  const complete = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header } as JWTHeaderParameters
  return new SignJWT({ ...claims }).setProtectedHeader(complete).sign(key.privateKey)
}

/** An issuer with one key, a clock that stands still, and a bearer check that knows both. */
export async function setup(options: Partial<BearerOptions> = {}, alg = 'ES256') {
  const clock = manualClock()
  const key = await signingKey(alg)
  const published: JWK[] = [key.jwk]
  const bearer = createBearer({ issuer, audience, keys: () => [...published], clock, ...options })
  const token = (claims: object = {}, header: object = {}) =>
    sign(key, { ...goodClaims(clock.now()), ...claims }, header)
  return { clock, key, published, bearer, token }
}

export interface FakeResponse {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

export interface ReceivedRequest {
  readonly path: string
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: string
}

/** A real HTTP server that answers as told and remembers what it was asked. */
export async function startServer(respond: (received: ReceivedRequest) => FakeResponse | Promise<FakeResponse>) {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const body = (await request.toArray()).join('')
    const received = { path: request.url ?? '', headers: request.headers, body }
    requests.push(received)
    const { status = 200, headers = {}, body: content } = await respond(received)
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers })
    response.end(typeof content === 'string' || content === undefined ? content : JSON.stringify(content))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
