import type { Decision, Identifier, Policy } from '@gatehouse/limiter'
import type { Rejection } from '../../activity/period.ts'
import type { RankedCaller } from '../../activity/ranking.ts'
import type { StoreState } from '../../activity/store-watch.ts'
import type { RuleUse } from '../../activity/use.ts'
import type { Limits } from '../../config/limits.ts'
import type { LimitOverride } from '../../model/limit-feed.ts'
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
  readonly standsForTier: boolean
  readonly isSeen: boolean
  readonly limitsAttempts: boolean
  readonly decision: Decision
}

interface CallerToFormat {
  readonly identifier: Identifier
  readonly tier: string | undefined
  readonly clientPolicy: string | undefined
  readonly override: LimitOverride | undefined
  readonly standings: readonly Standing[]
  readonly minutes: readonly { readonly at: number; readonly allowed: number; readonly rejected: number }[]
  readonly scope: 'all' | 'process'
}

/** Formats a caller, its override, and its standings. */
export function formatCaller(caller: CallerToFormat) {
  const { identifier, tier, clientPolicy, override, standings, minutes, scope } = caller
  return {
    identifier: { kind: identifier.kind, id: identifier.id },
    ...(tier === undefined ? {} : { tier }),
    ...(clientPolicy === undefined ? {} : { client_policy: clientPolicy }),
    ...(override === undefined ? {} : { override: formatOverride(override) }),
    policies: standings.map(formatStanding),
    minutes: minutes.map(({ at, ...counts }) => ({ at: new Date(at).toISOString(), ...counts })),
    scope,
  }
}

function formatOverride({ policy, factor, until, author, createdAt, reason }: LimitOverride) {
  return {
    ...(policy === undefined ? {} : { policy }),
    ...(factor === undefined ? {} : { factor }),
    until: new Date(until).toISOString(),
    ...(author === undefined ? {} : { author }),
    ...(createdAt === undefined ? {} : { created_at: new Date(createdAt).toISOString() }),
    ...(reason === undefined ? {} : { reason }),
  }
}

function formatStanding({ isTier, standsForTier, isSeen, limitsAttempts, decision }: Standing) {
  const { rules, ...standing } = formatDecision(decision)
  const { policy, rules: counted } = decision
  return {
    policy: policy.name,
    is_tier: isTier,
    stands_for_tier: standsForTier,
    recent: isSeen,
    shared: policy.shared,
    limits_attempts: limitsAttempts,
    ...standing,
    rules: rules.map((rule, nth) => ({ ...rule, window_seconds: (counted[nth]?.windowMs ?? 0) / 1_000 })),
  }
}

/** Formats how close callers come to a policy; shares are rounded to a thousandth. */
export function formatUse(
  policy: Policy,
  use: readonly RuleUse[],
  { missed, scope }: { readonly missed: number; readonly scope: 'all' | 'process' },
) {
  const round = (share: number) => Math.round(share * 1_000) / 1_000
  return {
    policy: policy.name,
    rules: use.map(({ windowMs, p50, p95, p99, max, ...rule }) => ({
      ...rule,
      window_seconds: windowMs / 1_000,
      p50: round(p50),
      p95: round(p95),
      p99: round(p99),
      max: round(max),
    })),
    error_bound: missed,
    scope,
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
