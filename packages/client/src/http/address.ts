/** A value of a query: left out when undefined, repeated when a list. */
export type QueryValue = string | number | boolean | undefined | null | readonly (string | number | boolean)[]

/** The parameters of an address by their names. */
export type PathParameters = Readonly<Record<string, string | number>>

/** The query of an address by names. */
export type Query = Readonly<Record<string, QueryValue>>

/**
 * Parses where an API is. A relative address is one of the page.
 * @throws TypeError for one that would send credentials in the clear, or has its own
 */
export function parseBaseUrl(name: string, address: string, allowInsecureHttp = false): URL {
  const url = new URL(address, globalThis.location?.href)
  if (url.username || url.password || url.hash || url.search)
    throw new TypeError(`${name} must have no credentials, query and fragment`)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && (allowInsecureHttp || isLoopback(url.hostname))))
    throw new TypeError(`${name} must be https, or http on loopback`)
  return url
}

/**
 * The address of a request: `/v1/users/{id}` below the base with its parameters and query.
 * @throws TypeError for a parameter that is missing, or that would name another path
 */
export function requestUrl(base: URL, template: string, parameters: PathParameters = {}, query: Query = {}): URL {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = parameters[name]
    // '' would name the list, '..' the folder above.
    if (value === undefined || /^\.{0,2}$/.test(String(value)))
      throw new TypeError(`the path parameter ${name} must not be ${JSON.stringify(value)}`)
    return encodeURIComponent(value)
  })
  const url = new URL(base)
  url.pathname = base.pathname.replace(/\/$/, '') + path
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) url.searchParams.append(name, String(one))
  return url
}

function isLoopback(host: string): boolean {
  return /^(localhost|\[::1\]|127(\.\d+){3})$/.test(host)
}
