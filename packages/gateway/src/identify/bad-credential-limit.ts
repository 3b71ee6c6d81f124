import { BearerError, type BearerErrorReason } from '@gatehouse/bearer'
import { type Clock, Problem } from '@gatehouse/kit'
import { createLimiter, type Decision, type Identifier, memoryStore, type Policy } from '@gatehouse/limiter'
import { toQuotaProblem } from '../http/quota-exceeded.ts'

/** Limits bad credentials by address, before more of them are checked. */
export interface BadCredentialLimit {
  /** @throws Problem 429 while the address has sent too many bad credentials */
  check(from: Identifier): void
  /** Counts a refused credential. */
  recordFailure(from: Identifier, error: unknown): void
}

const maxAddresses = 100_000

/** Refusals that honest clients cause too. They do not count. */
const harmlessReasons: ReadonlySet<BearerErrorReason> = new Set(['expired', 'not_yet_valid', 'revoked', 'scope'])

/** Receives the decision on a credential that was not checked. */
export type OnRejected = (decision: Decision, from: Identifier) => void

/** Counts in this process only: a store request for every forged token would help a flood of them. */
export function createBadCredentialLimit(
  policy: () => Policy,
  clock: Clock,
  onRejected: OnRejected = () => {},
): BadCredentialLimit {
  const limiter = createLimiter({ store: memoryStore({ maxKeys: maxAddresses }), clock })
  return {
    check(from) {
      const decision = limiter.peek(policy(), from)
      if (decision instanceof Promise || decision.allowed) return
      onRejected(decision, from)
      throw toQuotaProblem(decision)
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
