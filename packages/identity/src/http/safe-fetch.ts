import { lookup as resolve } from 'node:dns'
import { type IncomingHttpHeaders, request as overHttp, type RequestOptions } from 'node:http'
import { request as overHttps } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** The options of {@link safeFetch}. */
export interface SafeRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs?: number
  readonly maxBytes?: number
  /** Allows http:// on this machine: for development and tests. */
  readonly loopback?: boolean
}

/** The response of {@link safeFetch}. */
export interface SafeResponse {
  readonly status: number
  /** Repeated header fields are joined. */
  readonly headers: Readonly<Record<string, string>>
  /** The body as UTF-8. */
  readonly body: string
  readonly bytes: Buffer
}

/** Networks that no request may reach (RFC 6890 and its successors). */
const blocked = new BlockList()
for (const [address, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  blocked.addSubnet(address, prefix, 'ipv4')
}
for (const [address, prefix] of [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  blocked.addSubnet(address, prefix, 'ipv6')
}

/** Whether the address is in a blocked network. An IPv4-mapped IPv6 address counts as IPv4. */
export function isBlockedAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  const plain = mapped ?? address
  const family = isIP(plain)
  return family === 0 || blocked.check(plain, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Sends a request to an address that a client chose: https only, never into private networks (the name is resolved once
 * and that address is used), without redirects, bounded in time and size. Rejects otherwise.
 */
export function safeFetch(address: string, options: SafeRequest = {}): Promise<SafeResponse> {
  const url = new URL(address)
  const local = options.loopback === true && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url.protocol !== 'https:' && !(local && url.protocol === 'http:')) {
    return Promise.reject(new Error(`${url.protocol} is not allowed, expected https:`))
  }
  const bare = url.hostname.replace(/^\[|\]$/g, '')
  if (!local && isIP(bare) !== 0 && isBlockedAddress(bare)) {
    return Promise.reject(new Error(`${url.hostname} is in a blocked network`))
  }
  const { method = 'GET', headers = {}, body, timeoutMs = 5_000, maxBytes = 64 * 1024 } = options
  const settings: RequestOptions = {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }) },
    signal: AbortSignal.timeout(timeoutMs),
    agent: false,
    ...(local ? {} : { lookup: safeLookup }),
  }
  const { promise, resolve: answer, reject } = Promise.withResolvers<SafeResponse>()
  const call = (url.protocol === 'https:' ? overHttps : overHttp)(url, settings, (response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) call.destroy(new Error(`the response is larger than ${maxBytes} bytes`))
      chunks.push(chunk)
    })
    response.on('error', reject)
    response.on('end', () => {
      const bytes = Buffer.concat(chunks)
      answer({
        status: response.statusCode ?? 0,
        headers: joinHeaders(response.headers),
        body: bytes.toString('utf8'),
        bytes,
      })
    })
  })
  call.on('error', reject)
  call.end(body)
  return promise
}

function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
}

const safeLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    const allowed = error ? [] : addresses.filter(({ address }) => !isBlockedAddress(address))
    const [first] = allowed
    if (error || first === undefined || allowed.length < addresses.length) {
      callback(error ?? Object.assign(new Error(`${hostname} is in a blocked network`), { code: 'EACCES' }), '')
    } else if (options.all) callback(null, allowed)
    else callback(null, first.address, first.family)
  })
}
