import { retryAfterOf } from '../errors/api-error.ts'
import { GatehouseError } from '../errors/gatehouse-error.ts'
import { parseAnswer, requestIdOf } from '../http/answer.ts'
import { beginDeadline, type Deadline, pause, readText } from '../platform/waiting.ts'
import { type Prepared, prepare, sendOnce } from './attempt.ts'
import type { ClientConnection } from './connection.ts'
import { report } from './hooks.ts'
import { type CallOptions, type CallRequest, isIdempotent } from './request.ts'
import { nextAttemptIn } from './retry-policy.ts'

/**
 * Calls an operation and resolves with the value of its answer: parsed JSON, a text, or undefined where there is none.
 *
 * A failed connection and the statuses 408, 429, 502, 503 and 504 are followed by another attempt if the request is
 * idempotent: after `Retry-After`, else with full jitter over 0.2 s × 2ⁿ; at most four attempts, within the timeout, and
 * no more than a tenth of the calls of the last minute.
 *
 * @throws GatehouseError with a code; when the call was aborted, the reason of its signal
 * @example
 * ```ts
 * const user = await call<User>(connection, { method: 'GET', path: '/admin/v1/users/{id}', params: { id: 'alice' } })
 * ```
 */
export async function call<Result = unknown>(
  connection: ClientConnection,
  request: CallRequest,
  options: CallOptions = {},
): Promise<Result> {
  const { clock } = connection.platform
  const prepared = prepare(connection, request, options)
  const maxSent = Math.max(1, Math.min(connection.maxAttempts, options.maxAttempts ?? connection.maxAttempts))
  // The server may wait as long before it answers: the parameter is in seconds.
  const waitMs = Number(request.query?.wait) * 1_000 || 0
  const attemptTimeoutMs = options.attemptTimeoutMs ?? connection.attemptTimeoutMs + waitMs
  connection.budget.record(clock.now())
  const deadline = beginDeadline(clock, options.timeoutMs ?? connection.timeoutMs + waitMs, options.signal)
  try {
    for (let attempt = 1; ; attempt++) {
      const bound = beginDeadline(clock, attemptTimeoutMs, deadline.signal)
      try {
        const response = await sendOnce(prepared, maxSent, bound.signal)
        return (await readAnswer(response, options, bound.signal)) as Result
      } catch (error) {
        if (deadline.signal.aborted) throw deadline.signal.reason
        await waitForNext(prepared, { attempt, maxSent, deadline, error })
      } finally {
        bound.end()
      }
    }
  } finally {
    deadline.end()
  }
}

/** Reads the value of an answer; this is a part of the attempt. */
async function readAnswer(response: Response, { onAnswer }: CallOptions, signal: AbortSignal): Promise<unknown> {
  const { status, headers } = response
  const value = parseAnswer(headers, await readText(response, signal))
  onAnswer?.({ status, headers, requestId: requestIdOf(headers), etag: headers.get('etag') ?? undefined })
  return value
}

interface Failure {
  readonly attempt: number
  readonly maxSent: number
  readonly deadline: Deadline
  readonly error: unknown
}

/** Waits until the next attempt. @throws the error of the last one when there is none */
async function waitForNext(prepared: Prepared, { attempt, maxSent, deadline, error }: Failure): Promise<void> {
  if (!(error instanceof GatehouseError)) throw error
  const { connection, request, sent } = prepared
  const { budget, hooks, platform, waiting } = connection
  const waitMs = nextAttemptIn(
    {
      attempt: Math.max(attempt, sent),
      maxAttempts: maxSent,
      retryable: error.retryable,
      // The first attempt may have made another version of the one that If-Match names.
      repeatable: sent === 0 || (isIdempotent(request) && !prepared.headers.has('if-match')),
      retryAfterMs: retryAfterOf(error),
      othersWait: waiting.size > 0,
      remainingMs: deadline.at - platform.clock.now(),
    },
    platform.random,
  )
  if (waitMs === undefined || !budget.take(platform.clock.now())) throw error
  const { operation, method, path } = request
  report(hooks.onRetry, { operation, method, path, attempt: sent, code: error.code, waitMs })
  waiting.add(prepared)
  try {
    await pause(platform.clock, waitMs, deadline.signal)
  } finally {
    waiting.delete(prepared)
  }
}
