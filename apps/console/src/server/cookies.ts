/** The path below which everything of the console is. */
export const basePath = '/console'

/** The cookies of the console. */
export type CookieName = 'gatehouse-console' | 'gatehouse-console-sign-in' | 'gatehouse-console-known'

interface CookieOptions {
  /** Whether it is sent over https only; the name then has the prefix that binds it to this host (RFC 6265bis §4.1.3). */
  readonly secure: boolean
  readonly sameSite: 'Strict' | 'Lax'
  readonly maxAgeSeconds?: number
}

/** A Set-Cookie value that no script can read. */
export function formatCookie(name: CookieName, value: string, options: CookieOptions): string {
  const { secure, sameSite, maxAgeSeconds } = options
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  const flags = `Path=/; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
  return `${cookieName(name, secure)}=${value}; ${flags}${age}`
}

/** The name of a cookie, with its prefix where it is secure. */
function cookieName(name: CookieName, secure: boolean): string {
  return secure ? `__Host-${name}` : name
}

/** Reads a cookie of a request; of two with one name the first counts (RFC 6265 §5.4). */
export function readCookie(header: string | undefined, name: CookieName, secure: boolean): string | undefined {
  const prefix = `${cookieName(name, secure)}=`
  const found = header?.split(';').find((pair) => pair.trim().startsWith(prefix))
  return found?.trim().slice(prefix.length)
}
