import type { Config } from './config.ts'
import type { Settings } from './settings.ts'

/** Where a value comes from. */
export type Origin = 'environment' | 'file' | 'default'

/** A value in force. Of a secret it is only said whether there is one. */
export interface EffectiveValue {
  /** The variable of the environment, or the path in the file with dots. */
  readonly name: string
  readonly origin: Origin
  /** What it is; of a secret `set` or `unset`. */
  readonly value: string | number | boolean
  readonly secret: boolean
}

/** What is shown of the environment: no name is here that may hold a credential. */
const shown: Readonly<Record<string, (settings: Settings) => string | number | boolean | undefined>> = {
  SERVICES: ({ services }) => [...services].join(','),
  HOST: ({ host }) => host,
  PORT: ({ port }) => port,
  PROCESSES: ({ processes }) => processes,
  BASE_URL: ({ baseUrl }) => baseUrl,
  AUTH_URL: ({ authUrl }) => authUrl,
  ISSUER: ({ issuer }) => issuer && withoutCredentials(issuer.url),
  ISSUER_AUDIENCE: ({ issuer }) => issuer?.audiences.join(','),
  IDENTITY_URL: ({ identityUrl }) => identityUrl,
  NOTIFY_URL: ({ notifyUrl }) => notifyUrl,
  GATEWAY_URL: ({ gatewayUrl }) => gatewayUrl,
  CONSOLE_URL: ({ console }) => console.url,
  CONSOLE_CLIENT_ID: ({ console }) => console.clientId,
  SERVICE_CLIENT_ID: ({ serviceClient }) => serviceClient?.id,
  DATABASE_CONNECTIONS: ({ databaseConnections }) => databaseConnections,
  DATABASE_STATEMENT_TIMEOUT_MS: ({ databaseTimeouts }) => databaseTimeouts.statementMs,
  DATABASE_LOCK_TIMEOUT_MS: ({ databaseTimeouts }) => databaseTimeouts.lockMs,
  DATABASE_IDLE_TRANSACTION_TIMEOUT_MS: ({ databaseTimeouts }) => databaseTimeouts.idleTransactionMs,
  NATS_REPLICAS: ({ natsReplicas }) => natsReplicas,
  MAIL_FROM: ({ mailFrom }) => mailFrom,
  DATA_DIR: ({ dataDir }) => dataDir,
  GATEHOUSE_CONFIG: ({ configPath }) => configPath,
  LOG_LEVEL: ({ logLevel }) => logLevel,
  NOTIFY_BUCKETS: ({ notifyBuckets }) => notifyBuckets,
  TRUSTED_PROXIES: ({ trustedProxies }) => trustedProxies?.join(','),
  DEV_PAGES: ({ devPages }) => devPages,
  METRICS_PORT: ({ metricsPort }) => metricsPort,
  METRICS_HOST: ({ metricsHost }) => metricsHost,
}

/** What may hold a credential, also within an address. */
const secrets: Readonly<Record<string, (settings: Settings) => unknown>> = {
  DATABASE_URL: ({ databaseUrl }) => databaseUrl,
  DATABASE_SESSION_URL: ({ databaseSessionUrl }) => databaseSessionUrl,
  REDIS_URL: ({ redisUrl }) => redisUrl,
  NATS_URL: ({ natsUrl }) => natsUrl,
  SMTP_URL: ({ smtpUrl }) => smtpUrl,
  PROMETHEUS_URL: ({ prometheusUrl }) => prometheusUrl,
  ENCRYPTION_KEY: ({ encryptionKey }) => encryptionKey,
  SERVICE_CLIENT_SECRET: ({ serviceClient }) => serviceClient,
  CONSOLE_CLIENT_SECRET: ({ console }) => console.clientSecret,
}

/** Sections of the file whose texts are shown; elsewhere only that there is one, since it may be a credential. */
const shownSections: ReadonlySet<string> = new Set([
  'access_token_signed_response_alg',
  'channels',
  'features',
  'global_policy',
  'mfa',
  'policies',
  'tiers',
])

const maxFileValues = 300
const maxTextLength = 500

/** The values in force, with their origin. Lists of the file are counted. */
export function effectiveValues({ settings, file, origins = {} }: Config): EffectiveValue[] {
  const originOf = (name: string): Origin => origins[name] ?? 'default'
  const plain = Object.entries(shown).flatMap(([name, read]): EffectiveValue[] => {
    const value = read(settings)
    return value === undefined ? [] : [{ name, origin: originOf(name), value: truncate(value), secret: false }]
  })
  const hidden = Object.entries(secrets).map(([name, read]): EffectiveValue => {
    const value = read(settings) === undefined ? 'unset' : 'set'
    return { name, origin: originOf(name), value, secret: true }
  })
  return [...plain, ...hidden, ...fileValues(file).slice(0, maxFileValues)]
}

function fileValues(file: object): EffectiveValue[] {
  return Object.entries(file)
    .filter(([section]) => section !== 'engines')
    .flatMap(([section, value]) => leavesOf(section, value, shownSections.has(section)))
}

function leavesOf(name: string, value: unknown, showsTexts: boolean): EffectiveValue[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return [{ name, origin: 'file', value: value.length, secret: false }]
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([member, inner]) => leavesOf(`${name}.${member}`, inner, showsTexts))
  if (typeof value === 'number' || typeof value === 'boolean') return [{ name, origin: 'file', value, secret: false }]
  if (!showsTexts) return [{ name, origin: 'file', value: 'set', secret: true }]
  return [{ name, origin: 'file', value: truncate(String(value)), secret: false }]
}

function truncate(value: string | number | boolean): string | number | boolean {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : value
}

function withoutCredentials(address: string): string {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  url.search = ''
  return url.href
}
