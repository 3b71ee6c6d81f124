import type { NotifyOptions } from '../../config/options.ts'
import { quietUntil } from '../../model/quiet-hours.ts'
import type { AttemptRecord, ClaimedDelivery } from '../../store/store.ts'

/** What decides when a user's quiet hours are, and how their end is spread. */
export type SendConditions = Pick<NotifyOptions, 'zone' | 'morningSpreadMs'>

/** Whether nothing of a delivery is sent any more at `now` (Unix milliseconds). */
function isExpired({ expiresAt }: ClaimedDelivery, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt
}

/** When the quiet hours of its user end that hold at `now`; undefined where none hold, or it is critical. */
function quietEnd({ critical, quietHours }: ClaimedDelivery, zone: string, now: number): number | undefined {
  if (critical || !quietHours) return undefined
  return quietUntil(quietHours, quietHours.zone ?? zone, now)
}

/** Whether a provider may be called with a delivery at `now` (Unix milliseconds), by its age and its user's quiet hours. */
export function canSend(claimed: ClaimedDelivery, { zone }: SendConditions, now: number): boolean {
  return !isExpired(claimed, now) && quietEnd(claimed, zone, now) === undefined
}

/**
 * What becomes of a claimed delivery that may not be sent at `now` (Unix milliseconds), and undefined for one that may.
 * One that has expired ends. One that came due in the quiet hours of its user waits for their end, or until it expires:
 * no attempt is counted, and the wait is no wait for providers. Those of one morning are spread, unless the next quiet
 * hours begin too soon for that. `random` is in [0, 1).
 */
export function deferOrExpire(
  claimed: ClaimedDelivery,
  { zone, morningSpreadMs }: SendConditions,
  now: number,
  random: number,
): AttemptRecord | undefined {
  const { message, failures, crashes, expiresAt = Number.POSITIVE_INFINITY } = claimed
  if (isExpired(claimed, now)) {
    const detail = { expires_at: new Date(expiresAt).toISOString() }
    const what = message.accepted ? 'finished' : 'expired'
    return { claimed, at: now, what, detail, deadTokens: [], next: { kind: 'expired' } }
  }
  const end = quietEnd(claimed, zone, now)
  if (end === undefined) return undefined
  const spread = end + Math.floor(random * morningSpreadMs)
  const resumesAt = quietEnd(claimed, zone, spread) === undefined ? spread : end
  const dueAt = Math.min(resumesAt, expiresAt)
  const { targets, accepted = false, waitsSince } = message
  const left = { targets, accepted, waitsSince: waitsSince === undefined ? undefined : waitsSince + dueAt - now }
  const detail = { until: new Date(end).toISOString() }
  const next = { kind: 'again', dueAt, failures, crashes, left } as const
  return { claimed, at: now, what: 'quiet_hours', detail, deadTokens: [], next }
}
