import type { SendResult } from '@gatehouse/providers'
import { backoffMs, type RetryPolicy, resultRules, transitions } from '../model/delivery/retry-policy.ts'
import { type SuppressionDays, suppressing } from '../model/delivery/suppression.ts'
import type { Message, Target } from '../model/notification/notification.ts'
import type { ReasonCode } from '../model/notification/reason.ts'
import type { TimelineEntryType } from '../model/notification/timeline.ts'
import type { ClaimedDelivery } from '../store/store.ts'
import { type Attempt, type AttemptStep, acceptedBefore, noProvider, type Step, type TargetResult } from './attempt.ts'
import {
  type Availability,
  failoverPauseMs,
  mergePauses,
  nextCallAt,
  type ProviderHistory,
} from './providers/provider-history.ts'
import { redactQuotes } from './redaction.ts'

/** What is known at the moment of the decision. */
export interface StepContext {
  /** Unix milliseconds. */
  readonly now: number
  /** In [0, 1). */
  readonly random: number
  /** The providers that may be called for the target at some time, in the channel's order. */
  availability(target: Target, history: ProviderHistory): readonly Availability[]
}

/** The results of an attempt, and what they mean for the delivery. */
interface Assessment {
  readonly results: readonly TargetResult[]
  /** The targets that are sent to again, unless the delivery ends. */
  readonly left: readonly TargetResult[]
  readonly isFailure: boolean
  /** Failed attempts, this one included. */
  readonly failures: number
}

/** When the next attempt is due, and what the delivery remembers until then. */
type NextAttempt = ReturnType<typeof planNextAttempt>

/** Why a delivery ends. */
interface End {
  readonly cause: ReasonCode
  readonly detail: string
  /** What a replay must remember of the last attempt. */
  readonly left?: ProviderHistory
}

/**
 * The step that follows an attempt, by the tables of `model/retry-policy.ts`: the delivery is done, is attempted again for
 * the targets that are left, or becomes a dead letter. A failure goes to the next healthy provider, and no provider is
 * called before the end of the pause it asked for. A delivery that waits for its providers longer than the policy allows
 * ends; a push that ends falls back to email. An attempt that was never made releases its delivery.
 */
export function nextStep(attempt: Attempt, policy: RetryPolicy, context: StepContext): Step {
  const { claimed } = attempt
  if (!attempt.isMade) return { claimed }
  const assessment = assessResults(attempt)
  const { results, left, isFailure, failures } = assessment
  const accepted = results.find(({ result }) => result.kind === 'accepted')
  const column = accepted ? 'now' : acceptedBefore(claimed)
  const record = {
    claimed,
    at: context.now,
    ...(accepted ? { acknowledged: acknowledgementOf(accepted) } : {}),
    detail: { results: results.map(describeResult) },
    ...suppressionOf(results, policy.suppressionDays, context.now),
    deadTokens: deadTokensOf(results, context.now),
  }
  const ended = transitions.ended[column]
  // Most attempts end so: what the next one would be need not be known.
  if (left.length === 0 && ended.next === 'done') return { ...record, what: ended.entry, next: { kind: ended.next } }
  const retry = planNextAttempt(claimed, assessment, policy, context)
  const end = findEnd(claimed, assessment, retry, { policy, now: context.now })
  const { dueAt, history } = retry
  if (end) return { ...record, ...endOf(record, ended, { ...end, left: history }) }
  const { entry, next } = transitions[isFailure ? 'failed' : 'postponed'][column]
  const targets = left.map(({ target }) => target)
  const remembered = { targets, partlyAccepted: column !== 'never', ...history }
  return { ...record, what: entry, next: { kind: next, dueAt, failures, left: remembered } }
}

/** The step of a delivery whose workers died too often: it becomes a dead letter without another attempt. */
export function stepAfterCrashes(claimed: ClaimedDelivery, now: number): AttemptStep {
  const detail = `${claimed.crashes} workers died while they held it`
  const end = { cause: 'worker_died', detail } as const
  const record = { claimed, at: now, detail: { reason: detail }, deadTokens: [] }
  return { ...record, ...endOf(record, transitions.crashed[acceptedBefore(claimed)], end) }
}

const allUnavailable = 'no provider accepted it in time: each was failing, or asked for a pause'

/** The step of a delivery that waited for a provider as long as the policy allows. */
export function stepAfterWaiting(claimed: ClaimedDelivery, now: number, detail: string = allUnavailable): AttemptStep {
  const end = { cause: 'waited_too_long', detail } as const
  const record = { claimed, at: now, detail: { reason: detail }, deadTokens: [] }
  return { ...record, ...endOf(record, transitions.ended[acceptedBefore(claimed)], end) }
}

const brieflyMs = 300_000
const briefPauseMs = 10_000
const longPauseMs = 300_000

/**
 * The step of a delivery whose channel has no provider: it waits for one to be declared, as long as the policy allows and
 * until it expires. It is met again soon at first, since a slip of the configuration or a restart of processes one by one
 * is soon over; then every five minutes.
 */
export function stepWithoutProvider(
  claimed: ClaimedDelivery,
  { patienceMs }: Pick<RetryPolicy, 'patienceMs'>,
  now: number,
): Step {
  const { message, expiresAt = Number.POSITIVE_INFINITY } = claimed
  const waitedMs = now - (message.waitsSince ?? now)
  if (waitedMs >= patienceMs) return stepAfterWaiting(claimed, now, 'no provider carries its channel')
  const pauseMs = waitedMs < brieflyMs ? briefPauseMs : longPauseMs
  return { claimed, dueAt: now + Math.min(pauseMs, patienceMs - waitedMs, expiresAt - now), waitsSince: now }
}

/** How a delivery ends, and what the timeline tells of a dead letter. Only push has a fallback: email. */
function endOf(
  { claimed: { channel }, detail }: Pick<AttemptStep, 'claimed' | 'detail'>,
  { entry, next }: { readonly entry: TimelineEntryType; readonly next: 'done' | 'dead' },
  end: End,
): Pick<AttemptStep, 'what' | 'detail' | 'next'> {
  if (next === 'done') return { what: entry, detail, next: { kind: next } }
  const withCause = { ...detail, reason_code: end.cause }
  return { what: entry, detail: withCause, next: { kind: next, ...end, fallback: channel === 'push' } }
}

function assessResults({ claimed, results: all }: Attempt): Assessment {
  const results = redactQuotes(claimed, all)
  const left = results.filter(({ result }) => resultRules[result.kind].retries)
  const isFailure = left.some(({ result }) => resultRules[result.kind].counts)
  return { results, left, isFailure, failures: claimed.failures + (isFailure ? 1 : 0) }
}

/** Why the delivery ends; undefined where it is attempted again. */
function findEnd(
  { message }: Pick<ClaimedDelivery, 'message'>,
  { results, left, isFailure, failures }: Assessment,
  { dueAt, backoffEndsAt }: NextAttempt,
  { policy, now }: { readonly policy: RetryPolicy; readonly now: number },
): End | undefined {
  if (left.length === 0) return causeOf(results)
  const last = reasonOf(left.at(-1))
  if (isFailure && failures >= policy.attempts)
    return { cause: 'attempts_exhausted', detail: `${failures} attempts failed, the last: ${last}` }
  const waitsSince = isFailure ? now : (message.waitsSince ?? now)
  // The pause after a failure that counts is the operator's own: it is no wait for a provider, however long it is.
  if (dueAt <= Math.max(waitsSince + policy.patienceMs, backoffEndsAt)) return undefined
  return { cause: 'waited_too_long', detail: `no provider accepted it in time, the last: ${last}` }
}

/**
 * When what is left of a delivery is attempted again, and what it remembers until then: as soon as one of its providers
 * may be called, but no sooner than its backoff after a failure, and no later than it expires.
 */
function planNextAttempt(
  { message, expiresAt = Number.POSITIVE_INFINITY }: ClaimedDelivery,
  { results, left, isFailure, failures }: Assessment,
  { backoff }: RetryPolicy,
  { now, random, availability }: StepContext,
) {
  const postponements = isFailure ? 0 : (message.postponements ?? 0) + 1
  const called = results
    .filter(({ provider }) => provider !== noProvider)
    .map((each) => ({ ...each, pauseMs: pauseMsOf(each, postponements) }))
  const pauses = called.map(({ provider, pauseMs }) => ({ provider, until: now + pauseMs }))
  const history = {
    failedProviders: mergeFailedProviders(message, called),
    providerPauses: mergePauses(message, pauses, now),
    unresolved: mergeUnresolved(message, called),
  }
  const freeAt = Math.min(...left.map(({ target }) => nextCallAt(availability(target, history), history, now)))
  const isCalled = left.some(({ provider }) => provider !== noProvider)
  const postponedMs = isCalled ? minPostponedMs : postponedMsOf(postponements)
  const minMs = isFailure ? backoffMs(failures, backoff, random) : postponedMs
  return {
    dueAt: Math.min(Math.max(now + minMs, freeAt), expiresAt),
    backoffEndsAt: isFailure ? now + minMs : now,
    history: { postponements, ...history, waitsSince: isFailure ? undefined : (message.waitsSince ?? now) },
  }
}

const minPostponedMs = 1_000
const maxPostponedMs = 60_000

/** The result of a called provider, and for how long it is not called again with the delivery. */
interface CalledResult extends TargetResult {
  readonly pauseMs: number
}

/**
 * The pause that a result asks for. Where the attempt does not count, it is at least a second and doubles with each
 * postponement in a row, whatever the provider says: no provider is called in a tight loop.
 */
function pauseMsOf({ result }: TargetResult, postponements: number): number {
  const { retries, counts } = resultRules[result.kind]
  return retries && !counts ? Math.max(retryAfterMsOf(result), postponedMsOf(postponements)) : retryAfterMsOf(result)
}

function postponedMsOf(postponements: number): number {
  return Math.min(maxPostponedMs, minPostponedMs * 2 ** Math.min(16, Math.max(0, postponements - 1)))
}

const defaultRetryMs = 60_000
/** Until every process has read that the breaker is open, and chooses the next provider. */
const misconfiguredRetryMs = 2_000

function retryAfterMsOf(result: SendResult): number {
  if (result.kind === 'rate_limited') return result.retryAfterMs ?? defaultRetryMs
  if (result.kind === 'misconfigured') return misconfiguredRetryMs
  return result.kind === 'transient' ? (result.retryAfterMs ?? 0) : 0
}

/** The providers that failed for the delivery, the last to fail last: its next attempt prefers the others. */
function mergeFailedProviders(message: Message, called: readonly CalledResult[]): string[] {
  const failed = new Set(called.filter((each) => isFailover(each, message)).map(({ provider }) => provider))
  return [...(message.failedProviders ?? []).filter((name) => !failed.has(name)), ...failed]
}

function isFailover({ result, pauseMs }: CalledResult, message: Message): boolean {
  const { failover } = resultRules[result.kind]
  if (failover === 'if allowed') return message.failoverOnTimeout !== false
  return failover === 'if long' ? pauseMs > failoverPauseMs : failover === 'always'
}

/**
 * The providers that may have accepted a target, where the event type then forbids failover. A rejection says only that
 * its own call was not accepted; nothing but the provider's statement about the earlier calls resolves those.
 */
function mergeUnresolved(message: Message, called: readonly CalledResult[]): Readonly<Record<string, string>> {
  const unresolved = new Map(Object.entries(message.unresolved ?? {}))
  for (const { target, provider, result } of called) {
    const isResolved = result.kind === 'accepted' || ('noneAccepted' in result && result.noneAccepted)
    if (result.kind === 'ambiguous' && message.failoverOnTimeout === false) unresolved.set(target.id, provider)
    else if (isResolved) unresolved.delete(target.id)
  }
  return Object.fromEntries(unresolved)
}

function acknowledgementOf({ provider, result }: TargetResult): NonNullable<AttemptStep['acknowledged']> {
  if (result.kind !== 'accepted') return { provider }
  const { providerMessageId, inInbox } = result
  return {
    provider,
    ...(providerMessageId === undefined ? {} : { providerMessageId }),
    ...(inInbox ? { inInbox } : {}),
  }
}

/** Those of which a provider says so: the device that was left out without a call may be registered again by now. */
function deadTokensOf(results: readonly TargetResult[], now: number): AttemptStep['deadTokens'] {
  return results.flatMap(({ target, provider, result }) =>
    result.kind === 'dead_token' && provider !== noProvider
      ? [{ token: target.address, provider, at: result.at ?? now, reason: result.reason }]
      : [],
  )
}

function suppressionOf(
  results: readonly TargetResult[],
  days: SuppressionDays,
  now: number,
): Pick<AttemptStep, 'suppressed'> {
  for (const { target, result } of results)
    if (result.kind === 'permanent' && result.undeliverable)
      return {
        suppressed: { address: target.address, detail: result.reason, ...suppressing(result.undeliverable, days, now) },
      }
  return {}
}

/** Why no target is left. */
function causeOf(results: readonly TargetResult[]): End {
  const rejected = results.find(({ result }) => result.kind === 'permanent')
  if (rejected?.result.kind !== 'permanent')
    return { cause: 'unregistered', detail: 'no device of the user is registered any more' }
  const { code, reason } = rejected.result
  return { cause: 'permanent', detail: `${rejected.provider} answered ${code}: ${reason}` }
}

function reasonOf(last: TargetResult | undefined): string {
  return last && 'reason' in last.result ? last.result.reason : 'unknown'
}

function describeResult({ target, provider, result }: TargetResult): Record<string, unknown> {
  return { target: target.id, provider, result: result.kind, ...('reason' in result ? { reason: result.reason } : {}) }
}
