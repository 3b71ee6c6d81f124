/** Where the counter store is: a server, a group that Sentinels watch, or a Cluster. */
export interface RedisAddress {
  readonly kind: 'server' | 'sentinel' | 'cluster'
  /** The server; the Sentinels; some nodes of the Cluster. */
  readonly nodes: ReadonlyArray<{ readonly host: string; readonly port: number }>
  readonly tls: boolean
  readonly username?: string
  readonly password?: string
  readonly db?: number
  /** The name by which the Sentinels know the group. */
  readonly group?: string
  readonly sentinelUsername?: string
  readonly sentinelPassword?: string
}

/** What an address may look like, for whoever wrote another. */
export const redisAddressExpected =
  'must be redis://host:6379, redis+sentinel://host:26379,host2:26379/group or redis+cluster://host:7000,host2:7001 (rediss for TLS)'

const shape =
  /^(?<tls>rediss?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<credentials>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/
const node = /^(?<host>\[[\da-f:.]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i
const ports = { server: 6379, cluster: 6379, sentinel: 26379 } as const

/**
 * Reads an address: `redis://[user:password@]host[:6379][/db]`, `redis+sentinel://[user:password@]host[:26379],…/group[/db]`
 * (`?sentinel_username=` and `?sentinel_password=` for the Sentinels themselves), `redis+cluster://[user:password@]host[:6379],…`.
 * Undefined when it can't be read.
 */
export function parseRedisAddress(text: string): RedisAddress | undefined {
  const parts = shape.exec(text)?.groups
  if (!parts) return undefined
  const kind = (parts.kind ?? 'server') as RedisAddress['kind']
  const nodes = nodesOf(parts.hosts ?? '', ports[kind])
  const place = placeOf(kind, parts.path ?? '')
  const credentials = credentialsOf(parts.credentials)
  const sentinel = sentinelOf(kind, parts.query)
  if (!nodes || !place || !credentials || !sentinel || (kind === 'server' && nodes.length > 1)) return undefined
  return { kind, nodes, tls: parts.tls === 'rediss', ...place, ...credentials, ...sentinel }
}

function nodesOf(hosts: string, otherwise: number): RedisAddress['nodes'] | undefined {
  const nodes = hosts.split(',').map((text) => {
    const found = node.exec(text)?.groups
    const port = Number(found?.port ?? otherwise)
    return { host: (found?.host ?? '').replace(/^\[|\]$/g, ''), port }
  })
  return nodes.every(({ host, port }) => host !== '' && port > 0 && port < 65_536) ? nodes : undefined
}

/** A server may name its database, a group has a name and may have one, a Cluster has neither. */
function placeOf(kind: RedisAddress['kind'], path: string): Pick<RedisAddress, 'group' | 'db'> | undefined {
  const [group = '', db = '', ...rest] = kind === 'sentinel' ? path.split('/') : ['', ...path.split('/')]
  if (rest.length > 0 || !/^\d{0,5}$/.test(db) || (kind === 'cluster' && db !== '')) return undefined
  if (kind === 'sentinel' && group === '') return undefined
  return { ...(group === '' ? {} : { group: decode(group) }), ...(db === '' ? {} : { db: Number(db) }) }
}

function credentialsOf(text: string | undefined): Pick<RedisAddress, 'username' | 'password'> | undefined {
  if (text === undefined) return {}
  const [username = '', ...password] = text.split(':')
  return {
    ...(username === '' ? {} : { username: decode(username) }),
    ...(password.length === 0 ? {} : { password: decode(password.join(':')) }),
  }
}

function sentinelOf(kind: RedisAddress['kind'], query: string | undefined): Partial<RedisAddress> | undefined {
  const {
    sentinel_username: username,
    sentinel_password: password,
    ...rest
  } = Object.fromEntries(new URLSearchParams(query))
  if (Object.keys(rest).length > 0 || (kind !== 'sentinel' && (username ?? password) !== undefined)) return undefined
  return {
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
