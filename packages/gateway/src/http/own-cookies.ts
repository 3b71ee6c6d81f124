/**
 * Cookies of Gatehouse's own services. No other upstream reads or sets one. Browsers drop the space around a name, and
 * send a cookie without a name as its value alone: `=gatehouse_session=x` comes back as one of ours.
 */
const ownCookie = /^[\s=]*(?:__(?:host|secure)-)?gatehouse[_-]/i

/** Whether a `Set-Cookie` value or one pair of a `Cookie` header has a name of ours. */
export function isOwnCookie(cookie: string): boolean {
  return ownCookie.test(cookie)
}

/** A Cookie header without our own; undefined when none is left. Quotes enclose nothing here, as in browsers. */
export function removeOwnCookies(value: string): string | undefined {
  if (!/gatehouse/i.test(value)) return value
  const foreign = value.split(';').filter((pair) => !ownCookie.test(pair))
  return foreign.length === 0 ? undefined : foreign.join(';').trim()
}
