import {
  createHttp,
  createMetrics,
  type Database,
  type Http,
  type ManualClock,
  manualClock,
  Problem,
  silentLog,
} from '@gatehouse/kit'
import {
  type Caller,
  type Channel,
  type CreateNotifyOptions,
  channels,
  createNotify,
  inboxProvider,
  mailboxProvider,
  type Notify,
  type NotifyStore,
  type Provider,
} from '../../src/index.ts'
import type { PostgresNotifyOptions } from '../../src/postgres/index.ts'
import { notifyDatabase } from './engine/database.ts'
import { migrateNotify, postgresNotifyStore } from './engine/engine.ts'
import { checkTimeline } from './timeline-check.ts'

export interface Setup {
  readonly notify: Notify
  readonly store: NotifyStore
  readonly database: Database
  readonly http: Http
  readonly clock: ManualClock
  /** Every route, as `METHOD /path/:parameter`. */
  readonly routes: readonly string[]
  /** A request with a token that holds these scopes. */
  call(
    method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    scopes?: string,
  ): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever JSON came back; assertions say what it must be
  readonly body: any
  readonly headers: Record<string, unknown>
}

export interface SetupOptions extends Partial<CreateNotifyOptions> {
  readonly database?: Database
  readonly tables?: PostgresNotifyOptions
}

const everyScope = 'write:notifications read:notifications admin:notifications admin:privacy'

/** The service on a fresh database, embedded unless the tests run on another engine, with a clock of its own and the mailbox for every channel. */
export async function setup(settings: SetupOptions = {}): Promise<Setup> {
  const { database = await notifyDatabase(), tables = {}, ...options } = settings
  const division = await migrateNotify(database, tables)
  const clock = (options.clock as ManualClock | undefined) ?? manualClock()
  const distributed = tables.distributed === true || division.distributed
  const store = postgresNotifyStore(database, { ...tables, ...division, distributed })
  const notify = await createNotify({
    store,
    providers: mailboxes(store, clock),
    authenticate,
    devMailbox: true,
    log: silentLog,
    metrics: createMetrics(),
    ...options,
    options: { idleMs: 50, morningSpreadMs: 0, ...options.options },
    clock,
  })
  const http = createHttp({ log: silentLog })
  const routes: string[] = []
  http.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) if (each !== 'HEAD') routes.push(`${each} ${url}`)
  })
  await http.register((scope) => notify.plugin(scope as Http))
  await http.ready()
  return {
    notify,
    store,
    database,
    http,
    clock,
    routes,
    async call(method, path, body, scopes = everyScope) {
      const answer = await http.inject({
        method,
        url: path,
        headers: { authorization: `Bearer ${scopes}`, accept: 'application/json' },
        ...(body === undefined ? {} : { payload: body as object }),
      })
      const read = answer.body && JSON.parse(answer.body)
      checkTimeline(read)
      return { status: answer.statusCode, body: read, headers: answer.headers }
    },
    async close() {
      await http.close()
      await notify.stop()
      await database.close()
    },
  }
}

function mailboxes(store: NotifyStore, clock: ManualClock): Record<Channel, Provider[]> {
  const mailbox = (channel: Channel) =>
    mailboxProvider(channel, store.mailbox, clock, channel === 'in-app' ? inboxProvider() : undefined)
  return Object.fromEntries(channels.map((channel) => [channel, [mailbox(channel)]])) as Record<Channel, Provider[]>
}

/** Later than any clock of a test: every user has just signed in. */
const justNow = Date.UTC(2100)

/** The token is its scopes; `user:alice …` is a token of alice's, with `long-ago` one of an old sign-in. */
function authenticate(request: { headers: { authorization?: string | undefined } }, scope: string | undefined): Caller {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
  if (!token) throw new Problem(401, 'A bearer token is needed.', { headers: { 'www-authenticate': 'Bearer' } })
  const [, user] = /^user:(\S+)/.exec(token) ?? []
  const scopes = new Set(token.split(' '))
  if (scope !== undefined && !scopes.has(scope))
    throw new Problem(403, `The scope ${scope} is needed.`, {
      headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    })
  const roles = token.split(' ').flatMap((word) => (word.startsWith('role:') ? word.slice(5) : []))
  const authTime = token.split(' ').includes('long-ago') ? 0 : justNow
  const sort = user ? ({ kind: 'user', authTime } as const) : ({ kind: 'client' } as const)
  return { subject: user ?? 'shop', scopes, roles, ...sort }
}

/** An event type with a text for each of its channels, and a user who can be reached on all of them. */
export async function seedEventType(
  { call }: Setup,
  event: string = 'order.shipped',
  settings: object = {},
): Promise<void> {
  for (const channel of channels)
    await call('PUT', `/v1/templates/${event}/${channel}/en`, {
      subject: 'Order {{ order_id }}',
      body: 'Order {{ order_id }} left.',
    })
  await call('PUT', `/v1/event-types/${event}`, { channels: ['push', 'email', 'sms', 'in-app'], ...settings })
  await reachable({ call } as Setup, 'alice')
}

/** Makes a user reachable on every channel. */
async function reachable({ call }: Pick<Setup, 'call'>, userId: string): Promise<void> {
  await call('PUT', `/v1/recipients/${userId}`, {
    email: `${userId}@example.com`,
    phone_number: '+14155550100',
    locale: 'en',
  })
  await call('PUT', `/v1/users/${userId}/devices/phone`, { token: `token-of-${userId}` })
}

/** Asks until the answer is as wanted; the workers of the service run beside the test. */
export async function eventually<T>(ask: () => Promise<T>, wanted: (answer: T) => boolean): Promise<T> {
  for (let attempts = 0; ; attempts++) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (attempts > 2_000) throw new Error(`it never came to pass; the last answer: ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
