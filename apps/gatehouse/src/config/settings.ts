import { isAbsolute, resolve } from 'node:path'
import type { TokenType } from '@gatehouse/bearer'
import { isManagementScope } from '@gatehouse/identity'
import { type DatabaseTimeouts, defaultTimeouts, type KeyRing, readKeyRing, Secret } from '@gatehouse/kit'
import { isRange } from './address-range.ts'
import { type ConsoleSettings, needsOwnOrigin, readConsole } from './console.ts'
import type { Faults } from './faults.ts'
import { readProcesses } from './processes.ts'
import { parseRedisAddress, redisAddressExpected } from './redis-address.ts'

/** The services that SERVICES may name. */
export const services = ['identity', 'notify', 'gateway', 'console'] as const
/** The name of a service. */
export type Service = (typeof services)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** An issuer that is not ours (ISSUER), and what its access tokens look like. */
export interface ForeignIssuer {
  /** To the letter as its tokens have it in `iss`. */
  readonly url: string
  /** What `aud` must name one of. */
  readonly audiences: readonly string[]
  readonly tokenTypes: readonly TokenType[]
  /** Its classes of sign-in (acr), the weakest first; one that is not listed is met by itself alone. */
  readonly acrOrder: readonly string[]
}

/** What the environment says. Every member stands for the variable of the same name in the operations guide. */
export interface Settings {
  readonly services: ReadonlySet<Service>
  readonly host: string
  readonly port: number
  /** Worker processes that share the port; 1 is this process alone. */
  readonly processes: number
  readonly baseUrl: string
  readonly authUrl: string
  /** Whose tokens are taken where no identity of ours is; undefined where one is. */
  readonly issuer: ForeignIssuer | undefined
  /** Scopes of management that users of that issuer may hold; its clients may hold all. */
  readonly issuerAdminScopes: readonly string[]
  /** Whether an identity of ours runs elsewhere: something names where. */
  readonly identityElsewhere: boolean
  readonly identityUrl: string | undefined
  readonly notifyUrl: string | undefined
  readonly serviceClient: { readonly id: string; readonly secret: Secret } | undefined
  readonly gatewayUrl: string | undefined
  readonly console: ConsoleSettings
  readonly databaseUrl: Secret | undefined
  /** Most connections of this process to the database. */
  /** The server itself, where `databaseUrl` is a pooler in transaction mode. */
  readonly databaseSessionUrl: Secret | undefined
  readonly databaseConnections: number
  readonly databaseTimeouts: DatabaseTimeouts
  readonly redisUrl: Secret | undefined
  /** One or more URLs, with commas between. */
  readonly natsUrl: Secret | undefined
  /** Copies of each stream whose own number the file leaves out. */
  readonly natsReplicas: number | undefined
  readonly smtpUrl: Secret | undefined
  readonly mailFrom: string
  readonly dataDir: string
  /** Of several keys the first seals, and all open. */
  readonly encryptionKey: KeyRing | undefined
  readonly configPath: string | undefined
  readonly logLevel: string
  readonly notifyBuckets: number
  /** Ranges whose X-Forwarded-For is believed; undefined where the environment says nothing of them. */
  readonly trustedProxies: readonly string[] | undefined
  /** Whether the pages under /dev/ may be served at all: never in the image, whatever the file says. */
  readonly devPages: 'local' | 'never'
  /** Where metrics are served without a credential; undefined for nowhere. */
  readonly metricsPort: number | undefined
  readonly metricsHost: string
  /** The Prometheus that reads the metrics of all processes. */
  readonly prometheusUrl: Secret | undefined
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** Reads the settings from `environment`; what is wrong is added to `faults` and answered with a default. */
export function readSettings(environment: Environment, faults: Faults): Settings {
  const read = new Reader(environment, faults)
  const port = read.integer('PORT', 8080, 0, 65_535)
  const local = `http://localhost:${port}`
  const services = read.services()
  const baseUrl = read.url('BASE_URL') ?? local
  const authUrl = read.url('AUTH_URL') ?? local
  return {
    services,
    host: read.text('HOST') ?? '127.0.0.1',
    port,
    processes: readProcesses((name) => read.text(name), services, faults),
    baseUrl,
    authUrl,
    issuer: read.issuer(services, baseUrl),
    issuerAdminScopes: read.issuerAdminScopes(),
    identityElsewhere: !services.has('identity') && read.someOf('AUTH_URL', 'IDENTITY_URL', 'SERVICE_CLIENT_ID'),
    identityUrl: read.url('IDENTITY_URL'),
    notifyUrl: read.url('NOTIFY_URL'),
    gatewayUrl: read.url('GATEWAY_URL'),
    console: readConsole(read, { services, baseUrl, authUrl }),
    serviceClient: read.serviceClient(),
    databaseUrl: read.secretUrl('DATABASE_URL', ['postgres:', 'postgresql:']),
    databaseSessionUrl: read.secretUrl('DATABASE_SESSION_URL', ['postgres:', 'postgresql:']),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', 10, 2, 1_000),
    databaseTimeouts: readDatabaseTimeouts(read),
    redisUrl: read.redisUrl('REDIS_URL'),
    natsUrl: read.secretUrls('NATS_URL', ['nats:', 'tls:']),
    natsReplicas: read.text('NATS_REPLICAS') === undefined ? undefined : read.integer('NATS_REPLICAS', 1, 1, 5),
    smtpUrl: read.secretUrl('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: read.text('MAIL_FROM') ?? 'Gatehouse <no-reply@localhost>',
    dataDir: absolute(read.text('DATA_DIR') ?? './data'),
    encryptionKey: read.encryptionKey(services),
    configPath: read.text('GATEHOUSE_CONFIG'),
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
    notifyBuckets: read.integer('NOTIFY_BUCKETS', 1, 1, 32_767),
    trustedProxies: read.ranges('TRUSTED_PROXIES'),
    devPages: read.oneOf('DEV_PAGES', ['local', 'never'], 'local') === 'never' ? 'never' : 'local',
    metricsPort: read.text('METRICS_PORT') === undefined ? undefined : read.integer('METRICS_PORT', 9090, 1, 65_535),
    metricsHost: read.text('METRICS_HOST') ?? '127.0.0.1',
    prometheusUrl: read.secretUrl('PROMETHEUS_URL', httpProtocols),
  }
}

function readDatabaseTimeouts(read: Reader): DatabaseTimeouts {
  const { statementMs, lockMs, idleTransactionMs } = defaultTimeouts
  return {
    statementMs: read.integer('DATABASE_STATEMENT_TIMEOUT_MS', statementMs, 1_000, 600_000),
    lockMs: read.integer('DATABASE_LOCK_TIMEOUT_MS', lockMs, 100, 600_000),
    idleTransactionMs: read.integer('DATABASE_IDLE_TRANSACTION_TIMEOUT_MS', idleTransactionMs, 500, 600_000),
  }
}

const httpProtocols = ['http:', 'https:']
const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(path))

class Reader {
  readonly #environment: Environment
  readonly #faults: Faults

  constructor(environment: Environment, faults: Faults) {
    this.#environment = environment
    this.#faults = faults
  }

  /** An empty variable counts as one that isn't set: that is how compose files and CI pass "nothing". */
  text(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    this.#faults.add(name, `must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`)
    return fallback
  }

  oneOf(name: string, values: readonly string[], fallback: string): string {
    const text = this.text(name) ?? fallback
    if (values.includes(text)) return text
    this.#faults.add(name, `must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`)
    return fallback
  }

  /** A URL without a trailing slash. */
  url(name: string): string | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const url = URL.parse(text)
    const plain =
      url !== null &&
      httpProtocols.includes(url.protocol) &&
      url.search === '' &&
      url.hash === '' &&
      url.username === ''
    if (plain) return url.href.replace(/\/+$/, '')
    this.#faults.add(
      name,
      `must be an http:// or https:// URL without user, query and fragment, not ${JSON.stringify(text)}`,
    )
    return undefined
  }

  someOf(...names: readonly string[]): boolean {
    return names.some((name) => this.text(name) !== undefined)
  }

  /** Values separated by commas. */
  list(name: string): readonly string[] | undefined {
    return this.text(name)
      ?.split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '')
  }

  issuer(services: ReadonlySet<Service>, baseUrl: string): ForeignIssuer | undefined {
    const url = this.text('ISSUER')
    const audiences = this.list('ISSUER_AUDIENCE') ?? [baseUrl]
    const tokenTypes = this.tokenTypes()
    if (url === undefined) {
      for (const name of ['ISSUER_AUDIENCE', 'ISSUER_TOKEN_TYPES', 'ISSUER_ACR_VALUES', 'ISSUER_ADMIN_SCOPES'])
        if (this.someOf(name)) this.#faults.add(name, 'must be set together with ISSUER')
      return undefined
    }
    this.url('ISSUER')
    if (services.has('identity'))
      this.#faults.add('ISSUER', 'must not be set where identity runs (SERVICES): it is the issuer')
    for (const name of ['AUTH_URL', 'IDENTITY_URL', 'SERVICE_CLIENT_ID'])
      if (this.someOf(name)) this.#faults.add(name, 'must not be set with ISSUER: there is no identity of ours')
    return { url, audiences, tokenTypes, acrOrder: this.list('ISSUER_ACR_VALUES') ?? [] }
  }

  issuerAdminScopes(): readonly string[] {
    const scopes = this.list('ISSUER_ADMIN_SCOPES') ?? []
    for (const scope of scopes.filter((each) => !isManagementScope(each)))
      this.#faults.add(
        'ISSUER_ADMIN_SCOPES',
        `must name scopes of management such as admin:notifications, not ${JSON.stringify(scope)}; others need no mention`,
      )
    return scopes
  }

  tokenTypes(): readonly TokenType[] {
    const types = this.list('ISSUER_TOKEN_TYPES') ?? ['at+jwt']
    const known = types.filter((type) => type === 'at+jwt' || type === 'JWT')
    if (known.length === types.length && known.length > 0) return known
    this.#faults.add('ISSUER_TOKEN_TYPES', `must be at+jwt, JWT or both, not ${JSON.stringify(types.join(','))}`)
    return ['at+jwt']
  }

  /** A URL that may carry a password; it is not shown when it is wrong. */
  secretUrl(name: string, protocols: readonly string[]): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (protocols.includes(URL.parse(text)?.protocol ?? '')) return new Secret(text)
    this.#faults.add(name, `must be a URL with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
    return undefined
  }

  /** One or more of these with commas between. */
  secretUrls(name: string, protocols: readonly string[]): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (text.split(',').every((each) => protocols.includes(URL.parse(each.trim())?.protocol ?? '')))
      return new Secret(text)
    const expected = protocols.map((protocol) => `${protocol}//`).join(' or ')
    this.#faults.add(name, `must be a URL with ${expected}, or several with commas between`)
    return undefined
  }

  redisUrl(name: string): Secret | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    if (parseRedisAddress(text)) return new Secret(text)
    this.#faults.add(name, redisAddressExpected)
    return undefined
  }

  /** Ranges of addresses, separated by commas; `none` for a list without any. */
  ranges(name: string): readonly string[] | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const ranges = text === 'none' ? [] : text.split(',').map((range) => range.trim())
    for (const range of ranges.filter((each) => !isRange(each)))
      this.#faults.add(name, `must be none, or addresses or ranges such as 10.0.0.0/8, not ${JSON.stringify(range)}`)
    return ranges
  }

  services(): ReadonlySet<Service> {
    const text = this.text('SERVICES')
    if (text === undefined) return this.#allServices()
    const names = text.split(',').map((name) => name.trim())
    const unknown = names.filter((name) => !services.includes(name as Service))
    if (unknown.length > 0) {
      this.#faults.add('SERVICES', `must be a list of ${services.join(', ')}, not ${JSON.stringify(text)}`)
    }
    return new Set(services.filter((service) => names.includes(service)))
  }

  /** Where the console needs an origin of its own, it runs only if one is named. */
  #allServices(): ReadonlySet<Service> {
    const isSafe = !this.someOf('ISSUER') && !needsOwnOrigin(this, this.text('BASE_URL'))
    const withConsole = this.someOf('CONSOLE_URL') || isSafe
    return new Set(services.filter((service) => service !== 'console' || withConsole))
  }

  secret(name: string): Secret | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : new Secret(text)
  }

  fault(name: string, text: string): void {
    this.#faults.add(name, text)
  }

  serviceClient(): Settings['serviceClient'] {
    const id = this.text('SERVICE_CLIENT_ID')
    const secret = this.text('SERVICE_CLIENT_SECRET')
    if (id !== undefined && secret !== undefined) return { id, secret: new Secret(secret) }
    if (id !== undefined) this.#faults.add('SERVICE_CLIENT_SECRET', 'must be set together with SERVICE_CLIENT_ID')
    if (secret !== undefined) this.#faults.add('SERVICE_CLIENT_ID', 'must be set together with SERVICE_CLIENT_SECRET')
    return undefined
  }

  encryptionKey(services: ReadonlySet<Service>): KeyRing | undefined {
    const text = this.text('ENCRYPTION_KEY')
    if (text !== undefined) {
      const { ring, faults } = readKeyRing(text)
      for (const fault of faults) this.#faults.add('ENCRYPTION_KEY', fault)
      return ring
    }
    if (this.text('DATABASE_URL') !== undefined && (services.has('identity') || services.has('console'))) {
      this.#faults.add(
        'ENCRYPTION_KEY',
        'is required with DATABASE_URL: it encrypts signing keys and tokens; `openssl rand -base64 32` makes one',
      )
    }
    return undefined
  }
}
