/** How a request is made, within which bounds. */
export interface FetchOptions {
  readonly fetch: typeof globalThis.fetch
  readonly timeoutMs: number
  /** Maximum size of a response, after decompression. */
  readonly maxBytes: number
}

/** 5 seconds and 256 KiB. */
export const defaultFetchOptions: FetchOptions = {
  fetch: (...args) => globalThis.fetch(...args),
  timeoutMs: 5_000,
  maxBytes: 262_144,
}

/** A response whose body is JSON. */
export interface JsonResponse {
  readonly status: number
  readonly headers: Headers
  /** Undefined for an empty body, and for one of an error that is not JSON. */
  readonly body: unknown
}

/**
 * Parses a URL of the configuration: https, or http on loopback, or any http with `allowInsecureHttp`, without
 * credentials and fragment.
 *
 * @param name the option, for the error
 * @throws TypeError naming the option and what was expected
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
 * Makes a request and parses its JSON response. Redirects are refused, so that no other than the configured URL answers.
 *
 * @throws Error when the response is late, too long, a redirect, or a success that is not JSON
 */
export async function fetchJson(url: URL, request: RequestInit, exchange: FetchOptions): Promise<JsonResponse> {
  const signal = AbortSignal.timeout(exchange.timeoutMs)
  const response = await exchange.fetch(url, { ...request, redirect: 'error', signal })
  const text = await readText(response, exchange.maxBytes)
  return { status: response.status, headers: response.headers, body: parseBody(text, response.ok) }
}

/** Of an error the status says enough: it may be a proxy's, with a page for people. */
function parseBody(text: string, isOk: boolean): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    if (isOk) throw error
    return undefined
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBytes) throw new RangeError(`the response is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}
