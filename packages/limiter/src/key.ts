/** Who is limited: a kind (`user`, `client`, `ip`, `key` or one of the host's own) and the id within it. */
export interface Identifier {
  readonly kind: string
  /** For `key` the hash of the API key, never the key itself. */
  readonly id: string
}

/** Who is counted by a policy that counts all identifiers together. */
export const everyone: Identifier = Object.freeze({ kind: 'global', id: 'all' })

/** `none` writes keys as the specification does; `braces` adds the tag of a group behind the id, for Redis Cluster. */
export type KeyTag = 'none' | 'braces'

const kindPattern = /^[a-z][a-z0-9-]{0,31}$/
const plainPattern = /^[\w.~-]+$/
const maxIdLength = 512

/**
 * The id as it stands in a key, percent-encoded so that no id can reach into another's key.
 * @throws RangeError for an id that is empty, longer than 512 characters or no well-formed text
 */
export function encodeId(id: string): string {
  if (id.length === 0 || id.length > maxIdLength)
    throw new RangeError(`an identifier's id has 1 to ${maxIdLength} characters, this one has ${id.length}`)
  if (plainPattern.test(id)) return id
  if (!id.isWellFormed()) throw new RangeError("an identifier's id is well-formed Unicode text")
  return encodeURIComponent(id)
}

/** @throws RangeError for a kind that is not a lower-case word */
export function checkKind(kind: string): void {
  if (!kindPattern.test(kind))
    throw new RangeError(`an identifier's kind is a lower-case word such as user, client, ip or key, not "${kind}"`)
}

/**
 * Where an identifier is counted, without the window: `rl:user:42` for a tier's rules (scope ''), `rl:login:ip:192.0.2.1`
 * for a rule of its own (scope 'login'). A window's key is this and `:<window_index>`, a bucket's this and `:bucket`.
 */
export function counterKey(scope: string, identifier: Identifier): string {
  return encodedKey(scope, identifier.kind, encodeId(identifier.id))
}

/** As `counterKey`, of an id that is encoded already; `tag` is a hash tag in its braces, or nothing. */
export function encodedKey(scope: string, kind: string, id: string, tag = ''): string {
  return scope === '' ? `rl:${kind}:${id}${tag}` : `rl:${scope}:${kind}:${id}${tag}`
}
