import type { Decision, Identifier } from '@gatehouse/limiter'
import type { Rejection } from '../../activity/period.ts'
import type { RankedCaller } from '../../activity/ranking.ts'
import type { StoreState } from '../../activity/store-watch.ts'
import type { Limits } from '../../config/limits.ts'
import { formatDecision } from '../limit-responses.ts'

/** Formats a caller with its counts under one policy. */
export function formatRanked({ lastAt, ...caller }: RankedCaller) {
  return { ...caller, last_at: new Date(lastAt).toISOString() }
}

/** Formats a rejection. */
export function formatRejection({ at, identifier, retryAfterSeconds, requestId, ...rest }: Rejection) {
  return {
    at: new Date(at).toISOString(),
    ...rest,
    identifier: { kind: identifier.kind, id: identifier.id },
    retry_after: retryAfterSeconds,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  }
}

interface Standing {
  readonly isTier: boolean
  readonly isSeen: boolean
  readonly decision: Decision
}

interface CallerToFormat {
  readonly identifier: Identifier
  readonly tier: string | undefined
  readonly standings: readonly Standing[]
  readonly minutes: readonly { readonly at: number; readonly allowed: number; readonly rejected: number }[]
  readonly scope: 'all' | 'process'
}

/** Formats a caller: those of its policies first that counted it. */
export function formatCaller({ identifier, tier, standings, minutes, scope }: CallerToFormat) {
  return {
    identifier: { kind: identifier.kind, id: identifier.id },
    ...(tier === undefined ? {} : { tier }),
    policies: standings.map(formatStanding),
    minutes: minutes.map(({ at, ...counts }) => ({ at: new Date(at).toISOString(), ...counts })),
    scope,
  }
}

function formatStanding({ isTier, isSeen, decision }: Standing) {
  const { rules, ...standing } = formatDecision(decision)
  const { policy, rules: counted } = decision
  return {
    policy: policy.name,
    is_tier: isTier,
    recent: isSeen,
    shared: policy.shared,
    ...standing,
    rules: rules.map((rule, nth) => ({ ...rule, window_seconds: (counted[nth]?.windowMs ?? 0) / 1_000 })),
  }
}

/** Formats the state of the counter store, and what policies do while it is unavailable. */
export function formatStore(states: readonly StoreState[], { tiers, policies }: Limits) {
  const since = states.flatMap((state) => (state.since === undefined ? [] : [state.since]))
  const all = [...tiers.values(), ...policies.values()]
  const modes = (['local', 'open', 'closed'] as const).map((mode) => ({
    failure_mode: mode,
    policies: all.filter(({ failureMode }) => failureMode === mode).map(({ name }) => name),
  }))
  return {
    available: since.length === 0,
    ...(since.length === 0 ? {} : { unavailable_since: new Date(Math.min(...since)).toISOString() }),
    breakers: states.map(({ scope, breaker }) => ({ scope, state: breaker })),
    failure_modes: modes.filter(({ policies: names }) => names.length > 0),
  }
}
