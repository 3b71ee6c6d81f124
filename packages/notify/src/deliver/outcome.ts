import { type Backoff, backoffMs } from '../backoff.ts'
import type { Message, Target } from '../notification.ts'
import type { SendResult } from '../providers/provider.ts'
import type { ClaimedDelivery, TryRecord } from '../store.ts'
import { type SuppressionDays, suppressing } from '../suppression.ts'
import { withoutQuotes } from './quotes.ts'

/** What came back for one target of a delivery. */
export interface TargetResult {
  readonly target: Target
  readonly provider: string
  readonly result: SendResult
}

/** Stands for the provider of a target that nobody was called for. */
export const noProvider = 'none'

export interface RetryPolicy {
  /** Tries before a delivery is given up. */
  readonly attempts: number
  readonly backoff: Backoff
  readonly suppressionDays: SuppressionDays
  /** How long a delivery waits for its providers, without an attempt that counts, before it is given up, in milliseconds. */
  readonly patienceMs: number
}

/** What is known at the moment of the decision. */
export interface RetryContext {
  /** Unix milliseconds. */
  readonly now: number
  /** In [0, 1). */
  readonly random: number
  /** Whether a healthy provider carries to the target that is not among the named. */
  hasAnother(target: Target, failed: readonly string[]): boolean
}

/** Claims that may end with their worker's death before the delivery is taken out of the way. */
export const mostCrashes = 5
/** From so many on it is held by itself, so that its like are not taken out of the way with the one at fault. */
export const suspiciousCrashes = 3

const waits: ReadonlySet<SendResult['kind']> = new Set(['rate_limited', 'transient', 'ambiguous', 'misconfigured'])
const spares: ReadonlySet<SendResult['kind']> = new Set(['rate_limited', 'misconfigured'])

/**
 * Decides what follows a try: done, again (only the targets that have not taken it), or a dead letter. A rate limit
 * or a refused credential burns no try; a permanent answer spares the others. What failed goes to the next healthy
 * provider at its next try. A delivery that would wait for its providers longer than it may is given up; a push that is
 * given up falls back to email.
 */
export function judge(
  claimed: ClaimedDelivery,
  answers: readonly TargetResult[],
  policy: RetryPolicy,
  { now, random, hasAnother }: RetryContext,
): TryRecord {
  const results = withoutQuotes(claimed, answers)
  const accepted = results.find(({ result }) => result.kind === 'accepted')
  const record = {
    claimed,
    at: now,
    ...(accepted ? { acknowledged: acknowledgement(accepted) } : {}),
    detail: { results: results.map(told) },
    ...suppressedBy(results, policy.suppressionDays, now),
    deadTokens: results.flatMap(({ target, result }) =>
      result.kind === 'dead_token' ? [{ token: target.address, at: result.at ?? now, reason: result.reason }] : [],
    ),
  }
  const taken = accepted !== undefined || claimed.message.taken === true
  const left = results.filter(({ result }) => waits.has(result.kind))
  if (left.length === 0) {
    if (taken) return { ...record, what: accepted ? 'sent' : 'finished', next: { kind: 'done' } }
    return { ...record, what: 'dead_letter', next: { kind: 'dead', ...permanent(results), fallback: isPush(claimed) } }
  }
  const burns = left.some(({ result }) => !spares.has(result.kind))
  const failures = claimed.failures + (burns ? 1 : 0)
  if (burns && failures >= policy.attempts) {
    if (taken) return { ...record, what: accepted ? 'sent' : 'finished', next: { kind: 'done' } }
    const detail = `${failures} tries failed, the last: ${reasonOf(left.at(-1))}`
    const next = { kind: 'dead', cause: 'attempts_exhausted', detail, fallback: isPush(claimed) } as const
    return { ...record, what: 'dead_letter', next }
  }
  const failedProviders = providersFailed(claimed, left)
  // Whoever is asked again is given the pause that was asked for, whatever the others would do.
  const goesOn = left.every(({ target, provider }) => {
    return failedProviders.includes(provider) && hasAnother(target, failedProviders)
  })
  const postponements = burns ? 0 : (claimed.message.postponements ?? 0) + 1
  const asked = goesOn ? 0 : Math.max(...left.map(retryAfter))
  const pauseMs = Math.max(burns ? backoffMs(failures, policy.backoff, random) : postponedMs(postponements), asked)
  const waitsSince = claimed.message.waitsSince ?? now
  if (!burns && now + pauseMs > waitsSince + policy.patienceMs) {
    if (taken) return { ...record, what: accepted ? 'sent' : 'finished', next: { kind: 'done' } }
    const detail = `no provider took it in time, the last: ${reasonOf(left.at(-1))}`
    const next = { kind: 'dead', cause: 'waited_too_long', detail, fallback: isPush(claimed) } as const
    return { ...record, what: 'dead_letter', next }
  }
  return {
    ...record,
    what: accepted ? 'sent' : burns ? 'attempt_failed' : 'postponed',
    next: {
      kind: 'again',
      dueAt: now + pauseMs,
      failures,
      left: {
        targets: left.map(({ target }) => target),
        taken,
        postponements,
        failedProviders,
        ...(burns ? {} : { waitsSince }),
      },
    },
  }
}

const minPostponedMs = 1_000
const maxPostponedMs = 60_000

/** The least pause after so many postponements in a row, whatever the provider says: nothing is asked in a loop. */
function postponedMs(postponements: number): number {
  return Math.min(maxPostponedMs, minPostponedMs * 2 ** Math.min(16, postponements - 1))
}

/** A provider that wants a pause of up to this is waited for; beyond it the next one is asked. */
const patientRetryAfterMs = 5_000

/** The providers that failed for what is left of a delivery, the last to fail last: its next attempt goes to another one. */
function providersFailed({ message }: ClaimedDelivery, left: readonly TargetResult[]): string[] {
  const failing = left.filter(({ provider, result }) => provider !== noProvider && failsOver(result, message))
  const failed = new Set(failing.map(({ provider }) => provider))
  return [...(message.failedProviders ?? []).filter((name) => !failed.has(name)), ...failed]
}

function failsOver(result: SendResult, message: Message): boolean {
  if (result.kind === 'ambiguous') return message.failoverOnTimeout !== false
  if (result.kind === 'rate_limited') return (result.retryAfterMs ?? unhurriedMs) > patientRetryAfterMs
  return result.kind === 'transient' || result.kind === 'misconfigured'
}

/** A delivery whose workers keep dying is taken out of the way before it is tried again. */
export function quarantine(claimed: ClaimedDelivery, now: number): TryRecord {
  const detail = `${claimed.crashes} workers died while they held it`
  return {
    claimed,
    at: now,
    what: 'dead_letter',
    detail: { reason: detail },
    deadTokens: [],
    next: { kind: 'dead', cause: 'worker_died', detail, fallback: isPush(claimed) },
  }
}

const unhurriedMs = 60_000
/** Until every process has seen the breaker open, and the next provider is chosen. */
const misconfiguredPauseMs = 2_000

function retryAfter({ result }: TargetResult): number {
  if (result.kind === 'rate_limited') return result.retryAfterMs ?? unhurriedMs
  if (result.kind === 'misconfigured') return misconfiguredPauseMs
  return result.kind === 'transient' ? (result.retryAfterMs ?? 0) : 0
}

function isPush({ channel }: ClaimedDelivery): boolean {
  return channel === 'push'
}

function acknowledgement({ provider, result }: TargetResult): NonNullable<TryRecord['acknowledged']> {
  if (result.kind !== 'accepted') return { provider }
  const { providerMessageId, inInbox } = result
  return {
    provider,
    ...(providerMessageId === undefined ? {} : { providerMessageId }),
    ...(inInbox ? { inInbox } : {}),
  }
}

function suppressedBy(
  results: readonly TargetResult[],
  days: SuppressionDays,
  now: number,
): Pick<TryRecord, 'suppressed'> {
  for (const { target, result } of results)
    if (result.kind === 'permanent' && result.undeliverable)
      return {
        suppressed: { address: target.address, detail: result.reason, ...suppressing(result.undeliverable, days, now) },
      }
  return {}
}

function permanent(results: readonly TargetResult[]): { cause: string; detail: string } {
  const refused = results.find(({ result }) => result.kind === 'permanent')
  if (refused?.result.kind === 'permanent')
    return {
      cause: 'permanent',
      detail: `${refused.provider} answered ${refused.result.code}: ${refused.result.reason}`,
    }
  return { cause: 'unregistered', detail: 'no device of the user is registered any more' }
}

function reasonOf(last: TargetResult | undefined): string {
  return last && 'reason' in last.result ? last.result.reason : 'unknown'
}

function told({ target, provider, result }: TargetResult): Record<string, unknown> {
  return { target: target.id, provider, result: result.kind, ...('reason' in result ? { reason: result.reason } : {}) }
}
