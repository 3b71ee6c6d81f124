/** How an address is asked; all of it is bounded. */
export interface FetchOptions {
  readonly fetch: typeof globalThis.fetch
  readonly timeoutMs: number
  readonly maxBytes: number
}

export const defaultFetchOptions: FetchOptions = {
  fetch: (...args) => globalThis.fetch(...args),
  timeoutMs: 5_000,
  maxBytes: 262_144,
}

export interface JsonResponse {
  readonly status: number
  readonly headers: Headers
  /** Undefined for an empty body. */
  readonly body: unknown
}

/**
 * Checks an address from the configuration: https, or http to this machine itself, or http anywhere when that is
 * allowed by name; no credentials and no fragment in it.
 *
 * @param name how the setting is called, for the error
 * @throws TypeError
 */
export function endpointUrl(name: string, address: string, allowInsecureHttp = false): URL {
  const url = URL.parse(address)
  if (url === null) throw new TypeError(`${name} must be an absolute URL, not ${JSON.stringify(address)}`)
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new TypeError(`${name} must have neither credentials nor a fragment`)
  }
  const secure =
    url.protocol === 'https:' || (url.protocol === 'http:' && (allowInsecureHttp || isLoopback(url.hostname)))
  if (!secure) throw new TypeError(`${name} must be https (http only on loopback, or with allowInsecureHttp)`)
  return url
}

/**
 * One request that answers JSON. Redirects are refused, so that the address asked is the address configured; time and
 * size are bounded, the size after decompression.
 *
 * @throws Error when there is no answer in time, it is too long, redirects elsewhere, or is no JSON
 */
export async function fetchJson(url: URL, request: RequestInit, exchange: FetchOptions): Promise<JsonResponse> {
  const signal = AbortSignal.timeout(exchange.timeoutMs)
  const response = await exchange.fetch(url, { ...request, redirect: 'error', signal })
  const text = await readText(response, exchange.maxBytes)
  const body: unknown = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, body }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new RangeError(`the answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}
