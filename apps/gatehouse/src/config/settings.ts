import { isAbsolute, resolve } from 'node:path'
import { type DatabaseTimeouts, defaultTimeouts, type KeyRing, readKeyRing, type Secret } from '@gatehouse/kit'
import { type ConsoleSettings, readConsole } from './environment/console.ts'
import { type ForeignIssuer, readIssuer, readIssuerAdminScopes } from './environment/foreign-issuer.ts'
import { readProcesses } from './environment/processes.ts'
import { type Environment, EnvironmentReader } from './environment/reader.ts'
import { readServices, type Service } from './environment/services.ts'
import type { Faults } from './faults.ts'

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
  /** The server itself, where `databaseUrl` is a pooler in transaction mode. */
  readonly databaseSessionUrl: Secret | undefined
  /** Most connections of this process to the database. */
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

const loopback = '127.0.0.1'
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** Reads the settings from `environment`; what is wrong is added to `faults` and answered with a default. */
export function readSettings(environment: Environment, faults: Faults): Settings {
  const read = new EnvironmentReader(environment, faults)
  const port = read.integer('PORT', 8080, 0, 65_535)
  const host = read.text('HOST') ?? loopback
  const local = `http://localhost:${port}`
  const services = readServices(read)
  const baseUrl = read.url('BASE_URL') ?? local
  const authUrl = read.url('AUTH_URL') ?? local
  return {
    services,
    host,
    port,
    processes: readProcesses((name) => read.text(name), services, faults),
    baseUrl,
    authUrl,
    issuer: readIssuer(read, services, baseUrl),
    issuerAdminScopes: readIssuerAdminScopes(read),
    identityElsewhere: !services.has('identity') && read.someOf('AUTH_URL', 'IDENTITY_URL', 'SERVICE_CLIENT_ID'),
    identityUrl: read.url('IDENTITY_URL'),
    notifyUrl: read.url('NOTIFY_URL'),
    gatewayUrl: read.url('GATEWAY_URL'),
    console: readConsole(read, { services, host, port, baseUrl, authUrl }),
    serviceClient: readServiceClient(read),
    databaseUrl: readPostgresUrl(read, 'DATABASE_URL'),
    databaseSessionUrl: readSessionUrl(read),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', 10, 2, 1_000),
    databaseTimeouts: readDatabaseTimeouts(read),
    redisUrl: read.redisUrl('REDIS_URL'),
    natsUrl: read.secretUrls('NATS_URL', ['nats:', 'tls:']),
    natsReplicas: read.text('NATS_REPLICAS') === undefined ? undefined : read.integer('NATS_REPLICAS', 1, 1, 5),
    smtpUrl: read.secretUrl('SMTP_URL', ['smtp:', 'smtps:']),
    mailFrom: readMailFrom(read),
    dataDir: absolute(read.text('DATA_DIR') ?? './data'),
    encryptionKey: readEncryptionKey(read, services),
    configPath: read.text('GATEHOUSE_CONFIG'),
    logLevel: read.oneOf('LOG_LEVEL', logLevels, 'info'),
    notifyBuckets: read.integer('NOTIFY_BUCKETS', 1, 1, 32_767),
    trustedProxies: read.ranges('TRUSTED_PROXIES'),
    devPages: read.oneOf('DEV_PAGES', ['local', 'never'], 'local') === 'never' ? 'never' : 'local',
    metricsPort: readMetricsPort(read, port),
    metricsHost: read.text('METRICS_HOST') ?? loopback,
    prometheusUrl: read.secretUrl('PROMETHEUS_URL', ['http:', 'https:']),
  }
}

function readDatabaseTimeouts(read: EnvironmentReader): DatabaseTimeouts {
  const { statementMs, lockMs, idleTransactionMs } = defaultTimeouts
  return {
    statementMs: read.integer('DATABASE_STATEMENT_TIMEOUT_MS', statementMs, 1_000, 600_000),
    lockMs: read.integer('DATABASE_LOCK_TIMEOUT_MS', lockMs, 100, 600_000),
    idleTransactionMs: read.integer('DATABASE_IDLE_TRANSACTION_TIMEOUT_MS', idleTransactionMs, 500, 600_000),
  }
}

/** How the driver encrypts: it takes any other value as the strictest, and the error of the connection names none. */
const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']

function readPostgresUrl(read: EnvironmentReader, name: string): Secret | undefined {
  const url = read.secretUrl(name, ['postgres:', 'postgresql:'])
  const mode = url && URL.parse(url.reveal())?.searchParams.get('sslmode')
  if (mode && !sslModes.includes(mode))
    read.fault(name, `sslmode must be one of ${sslModes.join(', ')}, not ${JSON.stringify(mode)}`)
  return url
}

function readSessionUrl(read: EnvironmentReader): Secret | undefined {
  const url = readPostgresUrl(read, 'DATABASE_SESSION_URL')
  if (url !== undefined && !read.someOf('DATABASE_URL'))
    read.fault('DATABASE_SESSION_URL', 'must be set together with DATABASE_URL, which is the pooler')
  return url
}

const sender = /^(?:[^<>]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/

function readMailFrom(read: EnvironmentReader): string {
  const from = read.text('MAIL_FROM') ?? 'Gatehouse <no-reply@localhost>'
  if (!sender.test(from))
    read.fault(
      'MAIL_FROM',
      `must be an address such as no-reply@example.com or Shop <no-reply@example.com>, not ${JSON.stringify(from)}`,
    )
  return from
}

/** Two listeners of one process need different ports, unless each has an address of its own. */
function readMetricsPort(read: EnvironmentReader, port: number): number | undefined {
  if (!read.someOf('METRICS_PORT')) return undefined
  const metricsPort = read.integer('METRICS_PORT', 9090, 1, 65_535)
  const hosts = [read.text('HOST') ?? loopback, read.text('METRICS_HOST') ?? loopback]
  const isShared = hosts[0] === hosts[1] || hosts.some((host) => host === '0.0.0.0' || host === '::')
  if (metricsPort === port && isShared)
    read.fault('METRICS_PORT', `must not be ${port}, the PORT: metrics have a listener of their own`)
  return metricsPort
}

function readServiceClient(read: EnvironmentReader): Settings['serviceClient'] {
  const id = read.text('SERVICE_CLIENT_ID')
  const secret = read.secret('SERVICE_CLIENT_SECRET')
  if (id !== undefined && secret !== undefined) return { id, secret }
  if (id !== undefined) read.fault('SERVICE_CLIENT_SECRET', 'must be set together with SERVICE_CLIENT_ID')
  if (secret !== undefined) read.fault('SERVICE_CLIENT_ID', 'must be set together with SERVICE_CLIENT_SECRET')
  return undefined
}

function readEncryptionKey(read: EnvironmentReader, services: ReadonlySet<Service>): KeyRing | undefined {
  const text = read.text('ENCRYPTION_KEY')
  if (text !== undefined) {
    const { ring, faults } = readKeyRing(text)
    for (const fault of faults) read.fault('ENCRYPTION_KEY', fault)
    return ring
  }
  if (read.someOf('DATABASE_URL') && (services.has('identity') || services.has('console'))) {
    read.fault(
      'ENCRYPTION_KEY',
      'is required with DATABASE_URL: it encrypts signing keys and tokens; `openssl rand -base64 32` makes one',
    )
  }
  return undefined
}

function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(path)
}
