import type { Caller } from '../core/caller.ts'

/** A time in milliseconds: by the clock that tokens expire by, and by a steady one, which nobody sets. */
export interface Moment {
  readonly now: number
  readonly steady: number
}

interface RevokedBefore {
  readonly before: number
  readonly forgetAt: Moment
}

/**
 * The revoked tokens: those of a grant, those issued to a subject or client before some second, or those that a key
 * signed. An entry is dropped when every token that it covers has expired by both clocks: the settable one may be ahead
 * for a moment only, and when it is set back, tokens issued before live longer than the steady one says. A key is never
 * dropped, since its private part can sign tokens of any age.
 */
export class RevokedTokens {
  readonly #keepMs: number
  readonly #grants = new Map<string, RevokedBefore>()
  readonly #subjects = new Map<string, RevokedBefore>()
  readonly #clients = new Map<string, RevokedBefore>()
  readonly #keys = new Set<string>()

  constructor(keepMs: number) {
    this.#keepMs = keepMs
  }

  /** How many keys are revoked. It only grows. */
  get keys(): number {
    return this.#keys.size
  }

  /** Whether a caller's token is revoked. */
  covers(caller: Caller, keyId: string | undefined): boolean {
    if (keyId !== undefined && this.#keys.has(keyId)) return true
    if (caller.grantId !== undefined && this.#grants.has(caller.grantId)) return true
    if (wasIssuedBefore(caller, this.#subjects.get(caller.subject))) return true
    return caller.clientId !== undefined && wasIssuedBefore(caller, this.#clients.get(caller.clientId))
  }

  /** Adds entries of a feed. Returns how many are of an unknown form. */
  add(revocations: readonly object[], at: Moment): number {
    const forgetAt = { now: at.now + this.#keepMs, steady: at.steady + this.#keepMs }
    let unknown = 0
    for (const revocation of revocations) if (!this.#addOne(revocation, forgetAt)) unknown += 1
    for (const revoked of [this.#grants, this.#subjects, this.#clients]) forgetOld(revoked, at)
    return unknown
  }

  #addOne(revocation: object, forgetAt: Moment): boolean {
    if (hasText(revocation, 'grant')) {
      remember(this.#grants, revocation.grant, Number.POSITIVE_INFINITY, forgetAt)
      return true
    }
    if (hasText(revocation, 'key')) {
      this.#keys.add(revocation.key)
      return true
    }
    if (!('before' in revocation) || typeof revocation.before !== 'number') return false
    if (hasText(revocation, 'subject')) remember(this.#subjects, revocation.subject, revocation.before, forgetAt)
    else if (hasText(revocation, 'client')) remember(this.#clients, revocation.client, revocation.before, forgetAt)
    else return false
    return true
  }
}

/** A token that does not say when it was issued may be older than anything. */
function wasIssuedBefore(caller: Caller, since: RevokedBefore | undefined): boolean {
  if (since === undefined) return false
  return caller.issuedAt === undefined || caller.issuedAt < since.before * 1000
}

/** The latest `before` counts. The entry is set again, so that the map's order is the order of removal. */
function remember(revoked: Map<string, RevokedBefore>, id: string, before: number, forgetAt: Moment): void {
  const known = revoked.get(id)
  revoked.delete(id)
  revoked.set(id, { before: Math.max(before, known?.before ?? before), forgetAt })
}

function forgetOld(revoked: Map<string, RevokedBefore>, { now, steady }: Moment): void {
  for (const [id, { forgetAt }] of revoked) {
    if (forgetAt.now > now || forgetAt.steady > steady) return
    revoked.delete(id)
  }
}

function hasText<Name extends string>(revocation: object, name: Name): revocation is Record<Name, string> {
  return typeof (revocation as Record<string, unknown>)[name] === 'string'
}
