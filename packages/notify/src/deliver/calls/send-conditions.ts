import type { NotifyOptions } from '../../config/options.ts'
import { quietUntil, resumeAfter } from '../../model/delivery/quiet-hours.ts'
import { transitions } from '../../model/delivery/retry-policy.ts'
import type { ClaimedDelivery } from '../../store/store.ts'
import { type AttemptStep, acceptedBefore } from '../attempt.ts'

/** What decides when a user's quiet hours are, and how their end is spread. */
export type SendConditions = Pick<NotifyOptions, 'zone' | 'morningSpreadMs'>

/** Whether a provider may be called with a delivery at `now` (Unix milliseconds): not expired, and no quiet hours. */
export function canSend(claimed: ClaimedDelivery, { zone }: SendConditions, now: number): boolean {
  return !isExpired(claimed, now) && quietEnd(claimed, zone, now) === undefined
}

/**
 * The step of a claimed delivery that may not be sent at `now` (Unix milliseconds), and undefined for one that may. An
 * expired one ends. One that is due in the quiet hours of its user is deferred until they end, or until it expires: no
 * attempt is counted, and the wait is no wait for providers. The deferred of one morning are spread, unless the next quiet
 * hours begin too soon for that. `random` is in [0, 1).
 */
export function deferOrExpire(
  claimed: ClaimedDelivery,
  conditions: SendConditions,
  now: number,
  random: number,
): AttemptStep | undefined {
  if (isExpired(claimed, now)) return expire(claimed, now)
  const { zone, morningSpreadMs: spreadMs } = conditions
  const end = quietEnd(claimed, zone, now)
  if (end === undefined) return undefined
  const isQuiet = (at: number) => quietEnd(claimed, zone, at) !== undefined
  const resumesAt = resumeAfter({ end, spreadMs, random, isQuiet })
  return defer(claimed, { now, end, dueAt: Math.min(resumesAt, claimed.expiresAt ?? resumesAt) })
}

function isExpired({ expiresAt }: ClaimedDelivery, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt
}

/** When the user's quiet hours end that hold at `now`; undefined where none hold, or the delivery is critical. */
function quietEnd({ critical, quietHours }: ClaimedDelivery, zone: string, now: number): number | undefined {
  if (critical || !quietHours) return undefined
  return quietUntil(quietHours, quietHours.zone ?? zone, now)
}

function expire(claimed: ClaimedDelivery, now: number): AttemptStep {
  const { entry, next } = transitions.expired[acceptedBefore(claimed)]
  const detail = { expires_at: new Date(claimed.expiresAt ?? now).toISOString() }
  return { claimed, at: now, what: entry, detail, deadTokens: [], next: { kind: next } }
}

interface QuietTime {
  readonly now: number
  /** When the quiet hours end. */
  readonly end: number
  readonly dueAt: number
}

function defer(claimed: ClaimedDelivery, { now, end, dueAt }: QuietTime): AttemptStep {
  const { entry, next: kind } = transitions.quiet[acceptedBefore(claimed)]
  const { message, failures, crashes } = claimed
  const { targets, partlyAccepted = false, waitsSince } = message
  const left = { targets, partlyAccepted, waitsSince: waitsSince === undefined ? undefined : waitsSince + dueAt - now }
  const detail = { until: new Date(end).toISOString() }
  const next = { kind, dueAt, failures, crashes, left }
  return { claimed, at: now, what: entry, detail, deadTokens: [], next }
}
