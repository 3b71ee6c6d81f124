/** What a path may hold (RFC 3986 §3.3): no `#`, no space, no byte beyond ASCII. */
const pathOnly = /^\/(?:[\w\-.~!$&'()*+,;=:@/]|%[\dA-Fa-f]{2})*$/
/**
 * What a query may hold (RFC 3986 §3.4), and what browsers leave as it is there (WHATWG URL): brackets, a lone `%` and the
 * like. One class, so that no text can be read in two ways, which would take exponential time.
 */
const queryOnly = /^[\w\-.~!$&'()*+,;=:@/?[\]{}|\\^`%]*$/

/**
 * What is wrong with a request target; undefined for a path with or without a query. Anything else is read differently
 * by different servers: one ends a path at a `#`, the next takes it along.
 */
export function targetFault(target: string): string | undefined {
  if (!target.startsWith('/')) return 'The request target must be a path.'
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  if (!pathOnly.test(path)) return 'The path holds a character that must be percent-encoded (RFC 3986 section 3.3).'
  if (at >= 0 && !queryOnly.test(target.slice(at + 1)))
    return 'The query holds a character that must be percent-encoded (RFC 3986 section 3.4).'
  return undefined
}
