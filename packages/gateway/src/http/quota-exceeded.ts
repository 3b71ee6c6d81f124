import { Problem } from '@gatehouse/kit'
import { type Decision, quotaExceededProblem } from '@gatehouse/limiter'

/** The problem of a rejected request: 429 with Retry-After. */
export function toQuotaProblem(decision: Decision): Problem {
  const { type, title, status, ...members } = quotaExceededProblem(decision)
  const seconds = decision.retryAfterSeconds
  return new Problem(status, `Retry in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, {
    type,
    title,
    members,
    headers: { 'retry-after': String(seconds) },
  })
}
