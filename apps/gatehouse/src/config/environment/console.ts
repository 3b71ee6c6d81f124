import type { Secret } from '@gatehouse/kit'
import { isLoopback } from '../loopback.ts'
import type { EnvironmentReader } from './reader.ts'

/** Where the admin console is, and its registration at the identity service. */
export interface ConsoleSettings {
  /** The origin at which browsers reach it. */
  readonly url: string
  /** Whether its host is not one of the APIs and pages; on this machine, its origin. */
  readonly ownOrigin: boolean
  readonly clientId: string
  /** Left out where identity runs in the same process, which then needs none. */
  readonly clientSecret: Secret | undefined
}

interface Listener {
  readonly host: string
  readonly port: number
}

interface Surroundings extends Listener {
  readonly services: ReadonlySet<string>
  readonly baseUrl: string
  readonly authUrl: string
}

const clientIdPattern = /^[A-Za-z0-9._~:@-]{1,128}$/

/** Reads the settings of the console; what is wrong with them is a fault only where the console runs. */
export function readConsole(read: EnvironmentReader, around: Surroundings): ConsoleSettings {
  const { services, baseUrl, authUrl } = around
  const named = read.url('CONSOLE_URL')
  const url = new URL(named ?? baseUrl).origin
  const clientId = read.text('CONSOLE_CLIENT_ID') ?? 'gatehouse-console'
  if (!clientIdPattern.test(clientId))
    read.fault('CONSOLE_CLIENT_ID', 'must be 1 to 128 letters, digits and . _ ~ : @ -')
  if (named !== undefined && new URL(named).pathname !== '/')
    read.fault('CONSOLE_URL', 'must be an origin without a path, such as https://console.example.com')
  const ownOrigin = ![baseUrl, authUrl].some((other) => sharesCookies(new URL(other), new URL(url)))
  const settings = { url, ownOrigin, clientId, clientSecret: read.secret('CONSOLE_CLIENT_SECRET') }
  if (services.has('console')) checkConsole(read, around, settings)
  return settings
}

/** Whether two addresses are one to a browser's cookies, which ignore the port; this machine's differ by it. */
function sharesCookies(one: URL, other: URL): boolean {
  return isLoopback(one.hostname) ? one.origin === other.origin : one.hostname === other.hostname
}

/**
 * Whether the console needs an origin of its own: with a database of its own, and wherever others than this machine reach
 * the APIs and pages, of which a script could drive it. An unreadable `baseUrl` is a fault by itself.
 */
export function needsOwnOrigin(read: EnvironmentReader, baseUrl: string | undefined): boolean {
  const hostname = baseUrl === undefined ? undefined : URL.parse(baseUrl)?.hostname
  return read.someOf('DATABASE_URL') || (hostname !== undefined && !isLoopback(hostname))
}

/** This process as it reaches itself. */
export function ownAddress({ host, port }: Listener): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** At an origin of its own the console hides the APIs, also from the calls that it makes to this process. */
function checkReachable(read: EnvironmentReader, around: Surroundings, { url, ownOrigin }: ConsoleSettings): void {
  const own = ownAddress(around)
  const callsItself = ['identity', 'notify', 'gateway'].some((service) => around.services.has(service))
  if (!ownOrigin || !callsItself || URL.parse(own)?.host !== new URL(url).host) return
  read.fault(
    'CONSOLE_URL',
    `must not be at the host and port of ${own}, where this process reaches its own services and would find the console alone: name another host or port, or without DATABASE_URL leave it out`,
  )
}

function checkConsole(read: EnvironmentReader, around: Surroundings, settings: ConsoleSettings): void {
  const { services, baseUrl } = around
  const { url, ownOrigin, clientSecret } = settings
  checkReachable(read, around, settings)
  if (needsOwnOrigin(read, baseUrl) && !ownOrigin)
    read.fault(
      'CONSOLE_URL',
      'must be an origin of its own, at another host than BASE_URL and AUTH_URL, with DATABASE_URL or where BASE_URL is not this machine: a script in a page there could drive the console; or leave console out of SERVICES',
    )
  if (new URL(url).protocol === 'http:' && read.someOf('DATABASE_URL') && !isLoopback(new URL(url).hostname))
    read.fault('CONSOLE_URL', 'must be https, unless only this machine reaches it')
  if (read.someOf('ISSUER'))
    read.fault('SERVICES', 'must not name console with ISSUER: the console needs an identity service of ours')
  if (services.has('identity')) return
  if (!read.someOf('AUTH_URL')) read.fault('AUTH_URL', 'is required where the console runs without identity')
  if (clientSecret === undefined)
    read.fault('CONSOLE_CLIENT_SECRET', 'is required where the console runs without identity; give identity the same')
}
