import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { Problem } from '../problem.ts'

/** The header of a request that changes a resource only as it was read (RFC 9110 §13.1.1). */
export const IfMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      maxLength: 1024,
      description: 'The `ETag` of the resource as it was read: if it was changed since, nothing is done (412).',
    }),
  ),
})

/**
 * The entity tag of a state (RFC 9110 §8.8.3): another one whenever something in it differs. The order of members does
 * not count.
 */
export function entityTagOf(state: unknown): string {
  const text = JSON.stringify(state, (_name, value: unknown) => sorted(value))
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * Whether the header If-Match allows a change. A request without it may change whatever there is.
 *
 * @param current the entity tag of the resource; undefined if there is none
 */
export function isMatch(ifMatch: string | undefined, current: string | undefined): boolean {
  if (ifMatch === undefined) return true
  if (current === undefined) return false
  const tags = ifMatch.split(',').map((tag) => tag.trim())
  return tags.includes('*') || tags.includes(current)
}

/** @throws Problem 412 with the current entity tag, for a change of what is no longer as it was read */
export function requireMatch(ifMatch: string | undefined, current: string | undefined): void {
  if (!isMatch(ifMatch, current)) throw preconditionFailed(current)
}

/** The problem of a change of what is no longer as it was read. */
export function preconditionFailed(current: string | undefined): Problem {
  if (current === undefined) return new Problem(412, 'There is no such resource, so none as it was read.')
  const detail = `It was changed since it was read; its entity tag is now ${current}. Read it again.`
  return new Problem(412, detail, { headers: { etag: current }, members: { etag: current } })
}
