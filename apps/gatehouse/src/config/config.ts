import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { gatehouseAcrOrder } from '@gatehouse/bearer'
import { identityEvents } from '@gatehouse/identity'
import { Faults } from './faults.ts'
import { freePort } from './free-port.ts'
import { checkMeaning } from './meaning.ts'
import { type File, FileSchema } from './schema/file.ts'
import { readSettings, type Settings } from './settings.ts'
import { isDevelopment, trustOf } from './trust.ts'
import { type ReadFile, readYamlFile } from './yaml-file.ts'

export { parseRedisAddress, type RedisAddress, redisAddressExpected } from './environment/redis-address.ts'
export { isLoopback } from './loopback.ts'
export { leadsRootAway } from './meaning.ts'
export type { DeclaredProvider } from './schema/providers.ts'
export type { Settings } from './settings.ts'
export { fileKeyHash, isDevelopment, trustOf } from './trust.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Everything that was configured, read once; nobody else reads the environment or the file. */
export interface Config {
  readonly settings: Settings
  readonly file: File
  /** Where the file is; undefined where there is none. */
  readonly path?: string | undefined
  /** The folder that paths in the file start from. */
  readonly folder: string
  /** Which variables the environment, and which of them the file named; the others have their default. */
  readonly origins?: Readonly<Record<string, 'environment' | 'file'>>
}

const defaultPath = 'gatehouse.yaml'

/**
 * Reads the environment and the file it names (`GATEHOUSE_CONFIG`, else `./gatehouse.yaml` where there is one). Throws
 * StartError with one line for every fault: the setting or the file's line, and what was expected.
 */
export async function readConfig(environment: Environment = process.env): Promise<Config> {
  const faults = new Faults()
  const path = environment.GATEHOUSE_CONFIG?.trim() || (existsSync(defaultPath) ? defaultPath : undefined)
  const read = path ? readYamlFile(path, FileSchema, environment, faults) : undefined
  const declared = (read?.value ?? {}) as File
  const folder = dirname(resolve(path ?? defaultPath))
  if (read) checkMeaning(declared, folder, read.fault)
  const settings = readSettings(await withDefaults(environment, declared), faults)
  if (read) refuseForIdentity(settings, declared, read.fault)
  if (read) refuseUnknownClasses(settings, declared, read.fault)
  const { trustedProxies = declared.trusted_proxies } = settings
  const file = { ...declared, ...(trustedProxies ? { trusted_proxies: [...trustedProxies] } : {}) }
  refuseSilence(settings, file, faults)
  refuseOneAddress(settings, file, faults)
  refuseDevPages(settings, file, faults)
  faults.throwIfAny()
  return { settings, file, path, folder, origins: originsOf(environment, declared) }
}

/**
 * Reads the configuration of a running process again. A file that was there when it started has to be there still.
 * @throws StartError as {@link readConfig} does, also for a file that is gone
 */
export function readConfigAgain({ path }: Config, environment: Environment = process.env): Promise<Config> {
  return readConfig(path === undefined ? environment : { ...environment, GATEHOUSE_CONFIG: path })
}

/** Where the values come from that either may name. */
function originsOf(environment: Environment, { engines, processes }: File): NonNullable<Config['origins']> {
  const inFile = {
    DATABASE_URL: engines?.database_url,
    REDIS_URL: engines?.redis_url,
    NATS_URL: engines?.nats_url,
    NATS_REPLICAS: engines?.nats_replicas,
    DATA_DIR: engines?.data_dir,
    PROCESSES: processes,
  }
  const named = (values: object, origin: 'environment' | 'file') =>
    Object.entries(values).flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, origin]]))
  return Object.fromEntries([...named(inFile, 'file'), ...named(environment, 'environment')])
}

/** The environment over what the file says of the same things. */
async function withDefaults(environment: Environment, { engines, processes }: File): Promise<Environment> {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value?.trim()))
  return {
    DATABASE_URL: engines?.database_url,
    REDIS_URL: engines?.redis_url,
    NATS_URL: engines?.nats_url,
    NATS_REPLICAS: engines?.nats_replicas?.toString(),
    DATA_DIR: engines?.data_dir,
    PROCESSES: processes === undefined ? undefined : String(processes),
    ...set,
    ...(set.PORT === '0' ? { PORT: String(await freePort()) } : {}),
  }
}

/** Belongs between services: whoever holds it sends mails that let people into accounts. */
const reservedMailScope = 'write:reserved-mails'

/**
 * What identity has itself. Its mails let people into accounts: what is sent, to whom and how is its own, and only their
 * texts are chosen.
 */
function refuseForIdentity(settings: Settings, file: File, fault: ReadFile['fault']): void {
  const { event_types: declared = [], api_keys: keys = [] } = file
  const trust = trustOf(settings)
  if (trust === 'own' && keys.length > 0)
    fault(['api_keys'], 'is for processes without identity; here keys are made at /admin/v1/api-keys')
  for (const [index, { scopes }] of keys.entries())
    if (scopes.includes(reservedMailScope))
      fault(['api_keys', index, 'scopes'], `must not have ${reservedMailScope}: no API key sends the mails of identity`)
  if (trust === 'issuer' || trust === 'keys') return
  const reserved = identityEvents
  for (const [index, { event, template_id: templateId = event }] of declared.entries()) {
    if (reserved.includes(event))
      fault(['event_types', index, 'event'], `is identity's own: ${event}; its texts are changed in \`templates\``)
    else if (reserved.includes(templateId))
      fault(['event_types', index, 'template_id'], `is of a mail of identity: ${templateId}; choose another`)
  }
}

/** A class of sign-in that no token can have would close its route to everybody. */
function refuseUnknownClasses(settings: Settings, { routes = [] }: File, fault: ReadFile['fault']): void {
  const trust = trustOf(settings)
  for (const [index, { require_acr: acr, max_age_seconds: maxAge }] of routes.entries()) {
    if (acr === undefined && maxAge === undefined) continue
    if (trust === 'keys')
      fault(['routes', index], 'requires a sign-in, but this process takes API keys only: set ISSUER')
    else if (acr !== undefined && trust !== 'issuer' && !gatehouseAcrOrder.includes(acr))
      fault(['routes', index, 'require_acr'], `must be one of ${gatehouseAcrOrder.join(', ')}`)
  }
}

/** Where there is no mailbox to look into, nobody should learn from an empty one that mail goes nowhere. */
function refuseSilence(settings: Settings, file: File, faults: Faults): void {
  const carried = settings.smtpUrl || file.providers?.email || isOff(file.channels?.email)
  if (hasDevPages(settings, file) || !settings.services.has('notify') || carried) return
  const where = settings.databaseUrl ? 'with DATABASE_URL' : 'where /dev/mailbox is not served (docs/operations.md)'
  faults.add(
    'SMTP_URL',
    `is required ${where}, unless the file names \`providers: { email: … }\` or says \`channels: { email: off }\``,
  )
}

/** This program ends no TLS: whoever does stands before it, and without a word about that everybody has its address. */
function refuseOneAddress({ baseUrl, authUrl }: Settings, { trusted_proxies: proxies }: File, faults: Faults): void {
  const https = Object.entries({ BASE_URL: baseUrl, AUTH_URL: authUrl }).find(([, url]) => url.startsWith('https:'))
  if (!https || proxies !== undefined) return
  faults.add(
    'TRUSTED_PROXIES',
    `(or trusted_proxies in the file) is required where ${https[0]} is https: the addresses of the proxy that ends TLS, such as 10.0.0.0/8, or none ([] in the file) when it passes on the connections of callers as they are`,
  )
}

function refuseDevPages(settings: Settings, file: File, faults: Faults): void {
  if (!file.dev_pages) return
  if (settings.devPages === 'never')
    faults.add('dev_pages', 'must not be true where DEV_PAGES is never, as in the image')
  else if (settings.databaseUrl) faults.add('dev_pages', 'must not be true with DATABASE_URL')
}

/**
 * Whether the pages under /dev/ are served, which ask nobody who they are: on the embedded database, where nobody but
 * this machine can reach them, or where the file says so.
 */
export function hasDevPages(settings: Settings, file: File): boolean {
  if (settings.databaseUrl || settings.devPages === 'never' || file.dev_pages === false) return false
  return file.dev_pages === true || isDevelopment(settings, file)
}

/** Whether the file switches something off, in either of YAML's words for it. */
export function isOff(value: string | boolean | undefined): boolean {
  return value === 'off' || value === false
}
