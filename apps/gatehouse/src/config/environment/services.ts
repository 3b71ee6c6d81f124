import { needsOwnOrigin } from './console.ts'
import type { EnvironmentReader } from './reader.ts'

/** The services that SERVICES may name. */
export const services = ['identity', 'notify', 'gateway', 'console'] as const
/** The name of a service. */
export type Service = (typeof services)[number]

/** The services that are to run; without SERVICES all of them. */
export function readServices(read: EnvironmentReader): ReadonlySet<Service> {
  const text = read.text('SERVICES')
  if (text === undefined) return allServices(read)
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !services.includes(name as Service))
  if (unknown.length > 0)
    read.fault('SERVICES', `must be a list of ${services.join(', ')}, not ${JSON.stringify(text)}`)
  return new Set(services.filter((service) => names.includes(service)))
}

/** Where the console needs an origin of its own, it runs only if one is named. */
function allServices(read: EnvironmentReader): ReadonlySet<Service> {
  const isSafe = !read.someOf('ISSUER') && !needsOwnOrigin(read, read.text('BASE_URL'))
  const withConsole = read.someOf('CONSOLE_URL') || isSafe
  return new Set(services.filter((service) => service !== 'console' || withConsole))
}
