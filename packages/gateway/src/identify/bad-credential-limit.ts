import { BearerError, type BearerErrorReason } from '@gatehouse/bearer'
import { type Clock, Problem } from '@gatehouse/kit'
import { createLimiter, type Identifier, memoryStore, type Policy } from '@gatehouse/limiter'
import { quotaExceeded } from '../http/quota-exceeded.ts'

/** Stops those who send bad credentials again and again, before looking at more of them costs anything. */
export interface Brake {
  /** @throws Problem 429 while too many bad credentials came from there. */
  check(from: Identifier): void
  /** Counts a credential that was looked at and refused. */
  refused(from: Identifier, error: unknown): void
}

const mostAddresses = 100_000

/** Refusals that befall honest callers too. */
const honest: ReadonlySet<BearerErrorReason> = new Set(['expired', 'not_yet_valid', 'revoked', 'scope'])

/** Counted by address in this process alone: asking a store about every forged token would be what a flood wants. */
export function createBrake(policy: () => Policy, clock: Clock): Brake {
  const limiter = createLimiter({ store: memoryStore({ maxKeys: mostAddresses }), clock })
  return {
    check(from) {
      const decision = limiter.peek(policy(), from)
      if (!(decision instanceof Promise || decision.allowed)) throw quotaExceeded(decision)
    },
    refused(from, error) {
      if (isForged(error)) void limiter.check(policy(), from)
    },
  }
}

function isForged(error: unknown): boolean {
  if (error instanceof BearerError) return error.code === 'invalid_token' && !honest.has(error.reason)
  return error instanceof Problem && error.status === 401
}
