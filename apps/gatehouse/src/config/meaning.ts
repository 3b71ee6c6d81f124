import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  defaultPolicies,
  defaultTiers,
  type RouteRule,
  routeRuleOf,
  ruleText,
  shadowedRules,
  signInFault,
  templateFault,
  unlimited,
} from '@gatehouse/gateway'
import { attemptLimitPolicies } from '@gatehouse/identity'
import { isRange } from './address-range.ts'
import { parseRedisAddress, redisAddressExpected } from './environment/redis-address.ts'
import { checkRegistrations } from './registrations.ts'
import type { File } from './schema/file.ts'

type Fault = (path: ReadonlyArray<string | number>, expected: string) => void

const unlimitedPlan = 'unlimited'
const ownUpstreams = ['identity', 'notify', 'notify-streams']

/** What a schema can't see: names given twice, names of things that aren't there, zones, ranges and folders that aren't. */
export function checkMeaning(file: File, folder: string, fault: Fault): void {
  checkEngines(file, fault)
  checkTwice(file, fault)
  checkPlans(file, fault)
  checkPolicies(file, fault)
  checkRoutes(file, fault)
  checkRegistrations(file, fault)
  checkStartPage(file, fault)
  checkPlaces(file, fault)
  checkTemplates(file, folder, fault)
  checkProviders(file, fault)
  checkTopic(file, fault)
}

/** Each stream has as many partitions as any other. */
function checkTopic({ notify: { topic = {} } = {} }: File, fault: Fault): void {
  const { partitions = 1, partition_streams: streams = 1 } = topic
  if (partitions % streams !== 0)
    fault(['notify', 'topic', 'partition_streams'], `must divide the number of partitions, ${partitions}`)
}

/** The other addresses may come from the environment, and are read with it. */
function checkEngines({ engines = {} }: File, fault: Fault): void {
  const { redis_regional_url: url } = engines
  if (url !== undefined && !parseRedisAddress(url)) fault(['engines', 'redis_regional_url'], redisAddressExpected)
}

function checkTwice(file: File, fault: Fault): void {
  const lists = [
    ['clients', 'client_id', file.clients?.map(({ client_id }) => client_id)],
    ['users', 'id', file.users?.map(({ id }) => id)],
    ['users', 'email', file.users?.map(({ email }) => email?.toLowerCase())],
    ['api_keys', 'id', file.api_keys?.map(({ id }) => id)],
    ['api_keys', 'key_hash', file.api_keys?.map(({ key_hash }) => key_hash)],
    ['connections', 'id', file.connections?.map(({ id }) => id)],
    ['organizations', 'id', file.organizations?.map(({ id }) => id)],
    ['organization_roles', 'key', file.organization_roles?.map(({ key }) => key)],
    ['resources', 'id', file.resources?.map(({ id }) => id)],
    ['event_types', 'event', file.event_types?.map(({ event }) => event)],
    ['recipients', 'user_id', file.recipients?.map(({ user_id }) => user_id)],
  ] as const
  for (const [section, member, names = []] of lists) {
    for (const [index, name] of names.entries()) {
      if (name !== undefined && names.indexOf(name) !== index)
        fault([section, index, member], `is declared twice: ${name}`)
    }
  }
}

function checkPlans({ tiers = defaultTiers, clients = [], users = [], api_keys: keys = [] }: File, fault: Fault): void {
  const known = [...Object.keys(tiers), unlimitedPlan]
  const check = (section: string, plans: ReadonlyArray<string | undefined>) => {
    for (const [index, plan] of plans.entries()) {
      if (plan !== undefined && !known.includes(plan))
        fault([section, index, 'plan'], `must be a tier: ${known.join(', ')}`)
    }
  }
  check(
    'clients',
    clients.map(({ plan }) => plan),
  )
  check(
    'api_keys',
    keys.map(({ plan }) => plan),
  )
  check(
    'users',
    users.map(({ plan }) => plan),
  )
}

function checkPolicies({ tiers = defaultTiers, policies = {}, clients = [], routes = [] }: File, fault: Fault): void {
  if (Object.keys(tiers).length === 0) fault(['tiers'], 'must have at least one')
  const known = [...new Set([...Object.keys(defaultPolicies), ...Object.keys(policies), ...Object.keys(tiers)])]
  for (const [index, { policy }] of clients.entries())
    if (policy !== undefined && !known.includes(policy))
      fault(['clients', index, 'policy'], `must be a policy or tier: ${known.join(', ')}`)
  const ofRoutes = [...known, unlimited, ...Object.keys(attemptLimitPolicies)]
  for (const [index, { policy }] of routes.entries())
    if (policy !== undefined && !ofRoutes.includes(policy))
      fault(['routes', index, 'policy'], `must be a policy or tier: ${known.join(', ')}, or ${unlimited}`)
}

function checkRoutes({ routes = [], upstreams = {}, trusted_proxies: proxies = [] }: File, fault: Fault): void {
  const known = Object.keys(upstreams)
  for (const name of known)
    if (ownUpstreams.includes(name)) fault(['upstreams', name], 'is the name of a service of ours; choose another')
  for (const [index, { upstream }] of routes.entries()) {
    if (upstream !== undefined && !known.includes(upstream)) {
      fault(['routes', index, 'upstream'], `must be one of upstreams: ${known.join(', ') || 'there are none'}`)
    }
  }
  checkRules(routes.map(routeRuleOf), fault)
  for (const [index, range] of proxies.entries()) {
    if (!isRange(range)) fault(['trusted_proxies', index], 'must be an address or a range such as 10.0.0.0/8')
  }
}

/** Whether a route of the file leads `/` to an upstream. */
export function leadsRootAway({ routes = [] }: File): boolean {
  return routes.some(({ path, upstream }) => upstream !== undefined && (path === '/' || path === '/*'))
}

function checkStartPage(file: File, fault: Fault): void {
  if (file.start_page === '/') fault(['start_page'], 'must not be / itself')
  if (file.start_page !== undefined && leadsRootAway(file))
    fault(['start_page'], 'must be left out where a route leads / to an upstream')
}

function checkRules(routes: readonly RouteRule[], fault: Fault): void {
  for (const [index, rule] of routes.entries()) {
    const wrong = templateFault(rule.path)
    if (wrong !== undefined) fault(['routes', index, 'path'], wrong)
    const signIn = signInFault(rule)
    if (signIn !== undefined) fault(['routes', index], signIn)
  }
  for (const { rule, by } of shadowedRules(routes)) {
    const takers = by.map(ruleText).join(', ')
    fault(['routes', routes.indexOf(rule), 'path'], `${rule.path} can never match: ${takers} before it takes all`)
  }
}

function checkPlaces({ notify, users = [], recipients = [] }: File, fault: Fault): void {
  const check = (path: ReadonlyArray<string | number>, zone: unknown, locale: unknown) => {
    if (zone !== undefined && !isZone(zone))
      fault([...path, path[0] === 'notify' ? 'zone' : 'zoneinfo'], 'must be an IANA time zone such as Europe/Berlin')
    if (locale !== undefined && !isLocale(locale))
      fault([...path, 'locale'], 'must be a language tag such as en or pt-BR')
  }
  check(['notify'], notify?.zone, notify?.locale)
  for (const [index, { claims = {} }] of users.entries())
    check(['users', index, 'claims'], claims.zoneinfo, claims.locale)
  for (const [index, { zoneinfo, locale }] of recipients.entries()) check(['recipients', index], zoneinfo, locale)
}

function isZone(zone: unknown): boolean {
  if (typeof zone !== 'string') return false
  try {
    Temporal.Now.zonedDateTimeISO(zone)
    return !/^[+-]/.test(zone)
  } catch {
    return false
  }
}

function isLocale(tag: unknown): boolean {
  if (typeof tag !== 'string') return false
  try {
    return Intl.getCanonicalLocales(tag.replaceAll('_', '-')).length === 1
  } catch {
    return false
  }
}

function checkTemplates({ templates, event_types: eventTypes = [] }: File, folder: string, fault: Fault): void {
  if (templates === undefined) return
  const place = resolve(folder, templates)
  if (!statSync(place, { throwIfNoEntry: false })?.isDirectory()) {
    fault(['templates'], `must be a folder; ${place} is none`)
    return
  }
  for (const [index, { template_id: id }] of eventTypes.entries()) {
    if (id !== undefined && !existsSync(join(place, id)))
      fault(['event_types', index, 'template_id'], `is not in ${templates}: ${id}`)
  }
}

/** A provider's name is in metrics and in the path of its webhooks: no two have the same. */
function checkProviders({ providers = {} }: File, fault: Fault): void {
  const names = new Set<string>()
  for (const [channel, declared = []] of Object.entries(providers)) {
    for (const [index, { provider, name = provider }] of declared.entries()) {
      if (names.has(name)) fault(['providers', channel, index], `needs a \`name\` of its own: ${name} is taken`)
      names.add(name)
    }
  }
}
