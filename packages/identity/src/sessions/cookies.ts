/** The cookies of a request; of two with one name the first counts (RFC 6265 §5.4 puts the more specific first). */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (header ?? '').split(';')) {
    const equals = pair.indexOf('=')
    const name = pair.slice(0, equals).trim()
    if (equals > 0 && !cookies.has(name)) cookies.set(name, pair.slice(equals + 1).trim())
  }
  return cookies
}

export interface CookieOptions {
  /** Sent over https alone; the name then carries the prefix that pins it to this host (RFC 6265bis §4.1.3). */
  readonly secure: boolean
  /** Left out: until the browser closes. */
  readonly maxAgeSeconds?: number
}

/** A Set-Cookie value that scripts can't read and other sites' requests don't carry, save for plain navigation. */
export function cookie(name: string, value: string, { secure, maxAgeSeconds }: CookieOptions): string {
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  return `${cookieName(name, secure)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}${age}`
}

export function cookieName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name
}
