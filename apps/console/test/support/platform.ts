import assert from 'node:assert/strict'
import { createBearer, createRevocations, type Jwk } from '@gatehouse/bearer'
import { completeLimits, createAuthenticate, PolicyDeclaration, TierDeclaration } from '@gatehouse/gateway'
import { createIdentity, type Identity } from '@gatehouse/identity'
import { migrateIdentity, postgresIdentityStore } from '@gatehouse/identity/postgres'
import {
  createHttp,
  createMetrics,
  type Database,
  type Http,
  KeyRing,
  type ManualClock,
  manualClock,
  Secret,
  silentLog,
} from '@gatehouse/kit'
import { freePort, memoryDatabase } from '@gatehouse/testing'
import { type Console, type ConsoleOptions, consoleScopes, createConsole } from '../../src/server/index.ts'
import { liveRules } from '../../src/server/live/rules.ts'
import { migrateConsole, postgresConsoleStore } from '../../src/server/postgres/index.ts'

const key = new KeyRing([new Secret('0123456789abcdef0123456789abcdef')])
const clientSecret = 'console-secret-0123456789'

/** An identity service and a console, at one address, with a clock that tests move. */
export interface Platform {
  readonly url: string
  readonly identity: Identity
  readonly database: Database
  readonly clock: ManualClock
  /** The requests that reached the identity service, as method and path. */
  readonly requests: string[]
  /** Further routes, as services of ours have them. */
  readonly http: Http
  /** Another process of the console on the same database. */
  another(): Promise<{ readonly url: string; stop(): Promise<void> }>
  stop(): Promise<void>
}

/** The users of the platform; each has the password `<name> signs in to the console`. */
export const users = [
  { id: 'olga', roles: ['gatehouse-owner'] },
  { id: 'otto', roles: ['gatehouse-owner'] },
  { id: 'sara', roles: ['gatehouse-support'] },
  { id: 'paul', roles: [] },
]
export const passwordOf = (name: string) => `${name} signs in to the console`

/** What another service on the platform is built with. */
export interface Shared {
  readonly clock: ManualClock
  readonly authenticate: ReturnType<typeof authentication>
}

/** Starts the platform. `more` adds routes before it listens; `limit` bounds the sign-ins of its console. */
export async function startPlatform(
  more: (http: Http, shared: Shared) => void | Promise<void> = () => {},
  limit?: ConsoleOptions['limit'],
): Promise<Platform> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const clock = manualClock(Date.now())
  const database = await memoryDatabase(migrateIdentity)
  await migrateConsole(database)
  const built: { identity?: Identity } = {}
  const authenticate = authentication(() => built.identity, url, clock)
  const identity = await createIdentity({
    store: postgresIdentityStore(database),
    issuer: url,
    baseUrl: url,
    encryptionKey: key,
    declared: {
      clients: [consoleClient(url)],
      users: users.map((user) => ({ ...user, password: passwordOf(user.id) })),
    },
    authenticate,
    builtInClients: ['gatehouse-console'],
    features: { loopbackCalls: true },
    limitRules: {
      tier: TierDeclaration,
      policy: PolicyDeclaration,
      file: { document: completeLimits({}), isDeclared: false },
      check: () => undefined,
      lowest: () => 'free',
    },
    clock,
    log: silentLog,
    metrics: createMetrics(),
  })
  built.identity = identity
  const requests: string[] = []
  const http = createHttp({ log: silentLog })
  http.addHook('onRequest', async ({ method, raw }) => {
    requests.push(`${method} ${raw.url?.split('?', 1)[0]}`)
  })
  const options = consoleOptions(url, url, database, clock)
  const admin = createConsole(limit === undefined ? options : { ...options, limit })
  await http.register(identity.plugin)
  await http.register(admin.plugin)
  await more(http, { clock, authenticate })
  await http.listen({ port, host: 'localhost' })
  return {
    url,
    identity,
    database,
    clock,
    requests,
    http,
    another: () => startAnother(url, database, clock),
    async stop() {
      await admin.stop()
      await http.close()
      await Promise.all(identity.workers.map((worker) => worker.stop()))
      await database.close()
    },
  }
}

function consoleClient(url: string) {
  return {
    client_id: 'gatehouse-console',
    client_secret: clientSecret,
    redirect_uris: [`${url}/console/callback`],
    post_logout_redirect_uris: [`${url}/console/signed-out`],
    backchannel_logout_uri: `${url}/console/backchannel-logout`,
    scopes: [...consoleScopes],
    require_pushed_authorization_requests: true,
    skip_consent: true,
  }
}

function consoleOptions(publicUrl: string, issuer: string, database: Database, clock: ManualClock): ConsoleOptions {
  return {
    publicUrl,
    issuer,
    apiUrl: issuer,
    client: { id: 'gatehouse-console', secret: new Secret(clientSecret) },
    services: { identity: issuer, notify: issuer },
    encryptionKey: key,
    store: postgresConsoleStore(database),
    live: { ...liveRules, pollMs: 20, heartbeatMs: 40 },
    clock,
    log: silentLog,
  }
}

/** The check of tokens, with revocations read anew at every request. */
function authentication(identity: () => Identity | undefined, url: string, clock: ManualClock) {
  const here = () => identity() ?? assert.fail('identity is not there yet')
  const revocations = createRevocations({ read: (after) => here().revocations(after), clock })
  const keys = () => [...here().keys().keys] as Jwk[]
  const bearer = createBearer({ issuer: url, audience: url, clock, revocations, keys })
  const authenticate = createAuthenticate(bearer, 'gatehouse')
  return async (...request: Parameters<typeof authenticate>) => {
    await revocations.poll()
    return authenticate(...request)
  }
}

async function startAnother(issuer: string, database: Database, clock: ManualClock) {
  const port = await freePort()
  const http = createHttp({ log: silentLog })
  // The public address is that of the first process: both are behind one.
  const admin: Console = createConsole(consoleOptions(issuer, issuer, database, clock))
  await http.register(admin.plugin)
  await http.listen({ port, host: 'localhost' })
  return {
    url: `http://localhost:${port}`,
    async stop() {
      await admin.stop()
      await http.close()
    },
  }
}
