import type { SendResult } from '@gatehouse/providers'
import type { Message, Target } from '../model/notification.ts'
import { type Backoff, backoffMs } from '../model/retry-policy.ts'
import { type SuppressionDays, suppressing } from '../model/suppression.ts'
import type { AttemptRecord, ClaimedDelivery } from '../store/store.ts'
import {
  type Availability,
  failoverPauseMs,
  mergePauses,
  nextCallAt,
  type ProviderHistory,
} from './provider-history.ts'
import { redactQuotes } from './redaction.ts'

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
  /** The providers that may be called for the target at some time, in the channel's order. */
  availability(target: Target, history: ProviderHistory): readonly Availability[]
}

/** Claims that may end with their worker's death before the delivery is taken out of the way. */
export const maxCrashes = 5
/** From so many on it is held by itself, so that its like are not taken out of the way with the one at fault. */
export const suspectCrashes = 3

const waits: ReadonlySet<SendResult['kind']> = new Set(['rate_limited', 'transient', 'ambiguous', 'misconfigured'])
const spares: ReadonlySet<SendResult['kind']> = new Set(['rate_limited', 'misconfigured'])

/**
 * Decides what follows a try: done, again (only the targets that have not taken it), or a dead letter. A rate limit
 * or a refused credential burns no try; a permanent answer spares the others. What failed goes to the next healthy
 * provider at its next try, and no provider is called before the end of the pause it asked for. A delivery that would
 * wait for its providers longer than it may is given up; a push that is given up falls back to email.
 */
export function nextStep(
  claimed: ClaimedDelivery,
  answers: readonly TargetResult[],
  policy: RetryPolicy,
  context: RetryContext,
): AttemptRecord {
  const { now } = context
  const results = redactQuotes(claimed, answers)
  const accepted = results.find(({ result }) => result.kind === 'accepted')
  const record = {
    claimed,
    at: now,
    ...(accepted ? { acknowledged: acknowledgement(accepted) } : {}),
    detail: { results: results.map(told) },
    ...suppressedBy(results, policy.suppressionDays, now),
    deadTokens: deadTokensIn(results, now),
  }
  const left = results.filter(({ result }) => waits.has(result.kind))
  const burns = left.some(({ result }) => !spares.has(result.kind))
  const failures = claimed.failures + (burns ? 1 : 0)
  const counted = burns ? failures : undefined
  const { dueAt, backoffEndsAt, history } = nextAttempt(claimed, results, counted, policy, context)
  const taken = accepted !== undefined || claimed.message.accepted === true
  /** Where some target took it, what the others came to is no matter for a dead letter. */
  const end = (death: { readonly cause: string; readonly detail: string }): AttemptRecord =>
    taken
      ? { ...record, what: accepted ? 'sent' : 'finished', next: { kind: 'done' } }
      : { ...record, what: 'dead_letter', next: { kind: 'dead', ...death, fallback: isPush(claimed), left: history } }
  if (left.length === 0) return end(permanent(results))
  const last = reasonOf(left.at(-1))
  if (burns && failures >= policy.attempts)
    return end({ cause: 'attempts_exhausted', detail: `${failures} tries failed, the last: ${last}` })
  // The pause after a failure that counted is the operator's own: it is no waiting for a provider, however long it is.
  if (dueAt > Math.max((history.waitsSince ?? now) + policy.patienceMs, backoffEndsAt))
    return end({ cause: 'waited_too_long', detail: `no provider took it in time, the last: ${last}` })
  const what = accepted ? 'sent' : burns ? 'attempt_failed' : 'postponed'
  const targets = left.map(({ target }) => target)
  return { ...record, what, next: { kind: 'again', dueAt, failures, left: { targets, accepted: taken, ...history } } }
}

/**
 * When what is left of a delivery is tried again, and what it remembers until then: as soon as one of its providers may be
 * called, but no sooner than its backoff after a failure that counted (the `failures`-th), and no later than it expires.
 */
function nextAttempt(
  { message, expiresAt = Number.POSITIVE_INFINITY }: ClaimedDelivery,
  results: readonly TargetResult[],
  failures: number | undefined,
  { backoff }: RetryPolicy,
  { now, random, availability }: RetryContext,
) {
  const burns = failures !== undefined
  const postponements = burns ? 0 : (message.postponements ?? 0) + 1
  const pauses = results.map((each) => ({ ...each, pauseMs: pauseMs(each, postponements) }))
  const called = pauses.filter(({ provider }) => provider !== noProvider)
  const asked = called.map((each) => ({ provider: each.provider, until: now + each.pauseMs }))
  const providers = {
    failedProviders: providersFailed(message, called),
    providerPauses: mergePauses(message, asked, now),
    unresolved: unresolvedAfter(message, called),
  }
  const left = results.filter(({ result }) => waits.has(result.kind))
  const freeAt = Math.min(...left.map(({ target }) => nextCallAt(availability(target, providers), providers, now)))
  const isCalled = left.some(({ provider }) => provider !== noProvider)
  const postponedFor = isCalled ? minPostponedMs : postponedMs(postponements)
  const leastMs = burns ? backoffMs(failures, backoff, random) : postponedFor
  return {
    dueAt: Math.min(Math.max(now + leastMs, freeAt), expiresAt),
    backoffEndsAt: burns ? now + leastMs : now,
    history: { postponements, ...providers, waitsSince: burns ? undefined : (message.waitsSince ?? now) },
  }
}

const minPostponedMs = 1_000
const maxPostponedMs = 60_000

/** A target that is left, and for how long its provider is not to be called with it. */
interface Pause extends TargetResult {
  readonly pauseMs: number
}

/**
 * The pause that an answer asks for. Where it counts no attempt it is a second at the least, and longer with each
 * postponement in a row, whatever the provider says: nothing is called in a loop.
 */
function pauseMs({ result }: TargetResult, postponements: number): number {
  if (!spares.has(result.kind)) return retryAfterMs(result)
  return Math.max(retryAfterMs(result), postponedMs(postponements))
}

function postponedMs(postponements: number): number {
  return Math.min(maxPostponedMs, minPostponedMs * 2 ** Math.min(16, Math.max(0, postponements - 1)))
}

/** The providers that failed for what is left of a delivery, the last to fail last: its next attempt goes to another one. */
function providersFailed(message: Message, called: readonly Pause[]): string[] {
  const failed = new Set(called.filter((each) => failsOver(each, message)).map(({ provider }) => provider))
  return [...(message.failedProviders ?? []).filter((name) => !failed.has(name)), ...failed]
}

/**
 * Which providers may have taken what of a message after these answers, where that keeps it from the others. A refusal
 * says only that its own call was not taken; nothing but the provider's word for the earlier ones resolves those.
 */
function unresolvedAfter(message: Message, called: readonly Pause[]): Readonly<Record<string, string>> {
  const unresolved = new Map(Object.entries(message.unresolved ?? {}))
  for (const { target, provider, result } of called) {
    const isTaken = result.kind === 'accepted'
    if (result.kind === 'ambiguous' && message.failoverOnTimeout === false) unresolved.set(target.id, provider)
    else if (isTaken || ('notTaken' in result && result.notTaken)) unresolved.delete(target.id)
  }
  return Object.fromEntries(unresolved)
}

function failsOver({ result, pauseMs }: Pause, message: Message): boolean {
  if (result.kind === 'ambiguous') return message.failoverOnTimeout !== false
  if (result.kind === 'rate_limited') return pauseMs > failoverPauseMs
  return result.kind === 'transient' || result.kind === 'misconfigured'
}

/** A delivery whose workers keep dying is taken out of the way before it is tried again. */
export function quarantine(claimed: ClaimedDelivery, now: number): AttemptRecord {
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

/** A delivery that no provider could be called for, for so long as it may wait. */
export function abandonWaiting(claimed: ClaimedDelivery, now: number): AttemptRecord {
  const detail = 'no provider took it in time: each has been failing, or asks for a pause'
  const record = { claimed, at: now, detail: { reason: detail }, deadTokens: [] }
  if (claimed.message.accepted) return { ...record, what: 'finished', next: { kind: 'done' } }
  const next = { kind: 'dead', cause: 'waited_too_long', detail, fallback: isPush(claimed) } as const
  return { ...record, what: 'dead_letter', next }
}

const unhurriedMs = 60_000
/** Until every process has seen the breaker open, and the next provider is chosen. */
const misconfiguredPauseMs = 2_000

function retryAfterMs(result: SendResult): number {
  if (result.kind === 'rate_limited') return result.retryAfterMs ?? unhurriedMs
  if (result.kind === 'misconfigured') return misconfiguredPauseMs
  return result.kind === 'transient' ? (result.retryAfterMs ?? 0) : 0
}

function isPush({ channel }: ClaimedDelivery): boolean {
  return channel === 'push'
}

function acknowledgement({ provider, result }: TargetResult): NonNullable<AttemptRecord['acknowledged']> {
  if (result.kind !== 'accepted') return { provider }
  const { providerMessageId, inInbox } = result
  return {
    provider,
    ...(providerMessageId === undefined ? {} : { providerMessageId }),
    ...(inInbox ? { inInbox } : {}),
  }
}

function deadTokensIn(results: readonly TargetResult[], now: number): AttemptRecord['deadTokens'] {
  return results.flatMap(({ target, result }) =>
    result.kind === 'dead_token' ? [{ token: target.address, at: result.at ?? now, reason: result.reason }] : [],
  )
}

function suppressedBy(
  results: readonly TargetResult[],
  days: SuppressionDays,
  now: number,
): Pick<AttemptRecord, 'suppressed'> {
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
