import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import {
  type Clock,
  createHttp,
  createMetrics,
  type Database,
  type Http,
  KeyRing,
  type ManualClock,
  manualClock,
  Problem,
  Secret,
  silentLog,
} from '@gatehouse/kit'
import { memoryDatabase } from '@gatehouse/testing'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { type Authenticate, createIdentity, type Identity, type IdentityOptions } from '../../src/index.ts'
import { generateSigningKey } from '../../src/keys/generate.ts'
import { migrateIdentity, postgresIdentityStore } from '../../src/postgres/index.ts'

export const encryptionKey = '0123456789abcdef0123456789abcdef'

export const issuer = 'http://localhost:8080'

export interface Running {
  readonly http: Http
  readonly identity: Identity
  readonly database: Database
  readonly clock: ManualClock
  /** Every registered route. */
  readonly routes: readonly ServedRoute[]
  readonly post: (
    path: string,
    form: Record<string, string | string[]>,
    headers?: Record<string, string>,
  ) => Promise<TestResponse>
  close(): Promise<void>
}

export interface ServedRoute {
  readonly method: string
  readonly url: string
}

export interface TestResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Record<string, unknown>
  readonly text: string
}

export const service = {
  client_id: 'service',
  client_secret: 'service-secret-0123456789',
  scopes: ['write:notifications', 'read:users'],
}

/** Most tests are about what a password lets in, not about what guessing it costs. */
export const cheapHashes = { memoryKiB: 64, passes: 1 } as const

/** The tables, and the key that the start of every test would make: one of RSA takes longer than most tests. */
async function makeTablesAndKey(database: Database): Promise<void> {
  await migrateIdentity(database)
  const createdAt = manualClock().now()
  const generated = await generateSigningKey('RS256', KeyRing.of(new Secret(encryptionKey)))
  const key = { ...generated, createdAt, activatesAt: createdAt, expiresAt: undefined }
  await postgresIdentityStore(database).signingKeys.add(
    key,
    { expiresAt: createdAt, forgottenAt: createdAt },
    createdAt,
  )
}

/** Identity on its own database, served without a port. */
export async function setup(options: Partial<IdentityOptions> = {}, database?: Database): Promise<Running> {
  const clock = manualClock()
  const isUsual = options.clock === undefined && options.encryptionKey === undefined
  const db = database ?? (await memoryDatabase(isUsual ? makeTablesAndKey : migrateIdentity))
  await migrateIdentity(db)
  const close = () => (database === undefined ? db.close() : Promise.resolve())
  const created: { identity?: Identity } = {}
  const identity = await createIdentity({
    store: postgresIdentityStore(db),
    issuer,
    baseUrl: issuer,
    encryptionKey: new Secret(encryptionKey),
    declared: { clients: [service], users: [{ id: 'alice', password: 'correct horse', plan: 'pro' }] },
    authenticate: bearerCheck(() => created.identity, options.clock ?? clock),
    clock,
    log: silentLog,
    metrics: createMetrics(),
    ...options,
    passwords: { minLength: 8, ...cheapHashes, ...options.passwords },
  }).catch(async (error) => {
    await close()
    throw error
  })
  created.identity = identity
  const http = createHttp({ log: silentLog })
  const routes: ServedRoute[] = []
  http.addHook('onRoute', ({ method, url }) => {
    routes.push(...[method].flat().map((one) => ({ method: one, url })))
  })
  await http.register(identity.plugin)
  await http.ready()
  return {
    routes,
    http,
    identity,
    database: db,
    clock,
    async post(path, form, headers = {}) {
      const payload = new URLSearchParams(
        Object.entries(form).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
      ).toString()
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const response = await http.inject({ method: 'POST', url: path, payload, headers: { ...type, ...headers } })
      return responseOf(response)
    },
    async close() {
      await http.close()
      await Promise.all(identity.workers.map((worker) => worker.stop()))
      await close()
    },
  }
}

/** Identity for all tests of a file: set up before the first, closed after the last. */
export function setupOnce(options: Partial<IdentityOptions> = {}): Omit<Running, 'close'> {
  let shared: Running | undefined
  before(async () => {
    shared = await setup(options)
  })
  after(() => shared?.close())
  const running = (): Running => shared ?? assert.fail('used before setup')
  return {
    get http() {
      return running().http
    },
    get identity() {
      return running().identity
    },
    get database() {
      return running().database
    },
    get clock() {
      return running().clock
    },
    get routes() {
      return running().routes
    },
    post: (...request) => running().post(...request),
  }
}

export function responseOf(response: { statusCode: number; headers: object; payload: string }): TestResponse {
  const json = /[/+]json/.test(String((response.headers as Record<string, unknown>)['content-type']))
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string>,
    body: json ? JSON.parse(response.payload) : {},
    text: response.payload,
  }
}

/** A bearer check by an independent library, with the keys of the identity under test. */
function bearerCheck(identity: () => Identity | undefined, clock: Clock): Authenticate {
  return async (request, scope) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const running = identity()
    if (token === undefined || running === undefined) throw new Problem(401, 'A bearer token is needed.')
    const keys = createLocalJWKSet(running.keys() as unknown as Parameters<typeof createLocalJWKSet>[0])
    const { payload } = await jwtVerify(token, keys, {
      typ: 'at+jwt',
      audience: issuer,
      issuer,
      currentDate: new Date(clock.now()),
    }).catch(() => {
      throw new Problem(401, 'The token is not valid.')
    })
    const scopes = String(payload.scope ?? '').split(' ')
    if (scope !== undefined && !scopes.includes(scope)) throw new Problem(403, `The scope ${scope} is missing.`)
    const subject = String(payload.sub)
    const clientId = String(payload.client_id)
    const grantId = String(payload.grant_id)
    return { subject, clientId, kind: subject === clientId ? 'client' : 'user', scopes, grantId }
  }
}

/** An access token of the service client. */
export async function serviceToken(running: Pick<Running, 'post'>, scope?: string): Promise<string> {
  const { client_id, client_secret } = service
  const grant = { grant_type: 'client_credentials', client_id, client_secret, ...(scope ? { scope } : {}) }
  return String((await running.post('/token', grant)).body.access_token)
}
