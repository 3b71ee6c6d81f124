/**
 * Parses the cookies of a request; of two with one name the first counts (RFC 6265 §5.4 sends the more specific first).
 */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals).trim()
    if (equals > 0 && !cookies.has(name)) cookies.set(name, pair.slice(equals + 1).trim())
  }
  return cookies
}

/** The options of a cookie. */
export interface CookieOptions {
  /**
   * Whether it is sent over https only; the name then has the prefix that binds it to this host (RFC 6265bis §4.1.3).
   */
  readonly secure: boolean
  /** Default: until the browser closes. */
  readonly maxAgeSeconds?: number
}

/**
 * A Set-Cookie value for a cookie that scripts can't read and that other sites' requests don't carry, except
 * navigations.
 */
export function cookie(name: string, value: string, { secure, maxAgeSeconds }: CookieOptions): string {
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${cookieName(name, secure)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}${age}`
}

/** The name of a cookie, with its prefix. */
export function cookieName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name
}
