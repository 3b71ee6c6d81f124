import { Problem } from '@gatehouse/kit'
import { type Decision, quotaExceededProblem } from '@gatehouse/limiter'

/** The one place where 429 is written. */
export function toQuotaProblem(decision: Decision): Problem {
  const { type, title, status, ...members } = quotaExceededProblem(decision)
  const seconds = decision.retryAfterSeconds
  return new Problem(status, `Ask again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, {
    type,
    title,
    members,
    headers: { 'retry-after': String(seconds) },
  })
}
