import { BearerError, type BearerErrorReason } from '@gatehouse/bearer'
import { type Clock, Problem } from '@gatehouse/kit'
import { createLimiter, type Identifier, memoryStore, type Policy } from '@gatehouse/limiter'
import { toQuotaProblem } from '../http/quota-exceeded.ts'

/** Stops those who send bad credentials again and again, before looking at more of them costs anything. */
export interface BadCredentialLimit {
  /** @throws Problem 429 while too many bad credentials came from there. */
  check(from: Identifier): void
  /** Counts a credential that was looked at and refused. */
  recordFailure(from: Identifier, error: unknown): void
}

const maxAddresses = 100_000

/** Refusals that befall honest callers too. */
const harmlessReasons: ReadonlySet<BearerErrorReason> = new Set(['expired', 'not_yet_valid', 'revoked', 'scope'])

/** Counted by address in this process alone: asking a store about every forged token would be what a flood wants. */
export function createBadCredentialLimit(policy: () => Policy, clock: Clock): BadCredentialLimit {
  const limiter = createLimiter({ store: memoryStore({ maxKeys: maxAddresses }), clock })
  return {
    check(from) {
      const decision = limiter.peek(policy(), from)
      if (!(decision instanceof Promise || decision.allowed)) throw toQuotaProblem(decision)
    },
    recordFailure(from, error) {
      if (isForged(error)) void limiter.check(policy(), from)
    },
  }
}

function isForged(error: unknown): boolean {
  if (error instanceof BearerError) return error.code === 'invalid_token' && !harmlessReasons.has(error.reason)
  return error instanceof Problem && error.status === 401
}
