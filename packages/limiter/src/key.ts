/** Who is limited: a kind (`user`, `client`, `ip`, `key` or one of your own) and an id within it. */
export interface Identifier {
  /** A lower-case word of at most 32 characters. */
  readonly kind: string
  /** 1 to 512 characters of well-formed Unicode. For `key` the hash of the API key, never the key itself. */
  readonly id: string
}

/** The identifier under which a shared policy counts all identifiers together. */
export const everyone: Identifier = Object.freeze({ kind: 'global', id: 'all' })

/** `none` writes keys as specified; `braces` adds the hash tag of a group behind the id, for Redis Cluster. */
export type KeyTag = 'none' | 'braces'

const kindPattern = /^[a-z][a-z0-9-]{0,31}$/
const plainPattern = /^[\w.~-]+$/
const maxIdLength = 512

/**
 * Percent-encodes an id for keys, so that no id can form another identifier's key.
 *
 * @throws RangeError for an id that is empty, longer than 512 characters or not well-formed Unicode
 */
export function encodeId(id: string): string {
  if (id.length === 0 || id.length > maxIdLength)
    throw new RangeError(`an identifier's id must have 1 to ${maxIdLength} characters, got ${id.length}`)
  if (plainPattern.test(id)) return id
  if (!id.isWellFormed()) throw new RangeError("an identifier's id must be well-formed Unicode")
  return encodeURIComponent(id)
}

/** @throws RangeError for a kind that is not a lower-case word */
export function checkKind(kind: string): void {
  if (!kindPattern.test(kind))
    throw new RangeError(
      `an identifier's kind must be a lower-case word such as user, client, ip or key, got "${kind}"`,
    )
}

/**
 * The key of an identifier's counter without the window: `rl:user:42` for the rules of a tier (scope ''),
 * `rl:login:ip:192.0.2.1` for other rules (scope 'login'). Windows append `:<window_index>`, buckets `:bucket`.
 */
export function counterKey(scope: string, identifier: Identifier): string {
  return encodedKey(scope, identifier.kind, encodeId(identifier.id))
}

/** As `counterKey`, of an id that is encoded already; `tag` is a hash tag in braces, or empty. */
export function encodedKey(scope: string, kind: string, id: string, tag = ''): string {
  return scope === '' ? `rl:${kind}:${id}${tag}` : `rl:${scope}:${kind}:${id}${tag}`
}
