import { type Clock, createPage, type Page } from '@gatehouse/kit'
import type { Identifier, Limiter } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import type { Activity, Reading } from '../../activity/activity.ts'
import type { CallerCount } from '../../activity/caller-key.ts'
import { type CallerStep, type Steps, stepAt, stepStarts } from '../../activity/history.ts'
import type { Rejection } from '../../activity/period.ts'
import { type CountedCallers, type RankingFilter, rankCallers } from '../../activity/ranking.ts'
import type { StoreWatch } from '../../activity/store-watch.ts'
import { useOf } from '../../activity/use.ts'
import type { AttemptBlocks } from '../../model/attempt-blocks.ts'
import type { RouteRule } from '../../model/route-rule.ts'
import type { AppliedLimits } from '../applied-limits.ts'
import { maskIdentifier } from '../limit-masking.ts'
import { attemptLimitsOf, findLimit, parseIdentifier, requireStore } from '../limit-operations.ts'
import type { Operators } from '../operators.ts'
import { policiesOfCaller } from './policies.ts'
import { formatCaller, formatRanked, formatRejection, formatStore, formatUse } from './responses.ts'
import { createSeries, type StatisticsQuery, selectLabels, stepsOfQuery } from './statistics.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** How far back callers are ranked, and in steps of what length. */
export const windows = {
  '15m': { lengthMs: 15 * minuteMs, stepMs: minuteMs },
  '1h': { lengthMs: hourMs, stepMs: minuteMs },
  '24h': { lengthMs: 24 * hourMs, stepMs: hourMs },
  '7d': { lengthMs: 7 * 24 * hourMs, stepMs: hourMs },
} as const

/** What callers are ranked by, and which. */
export interface TopQuery extends RankingFilter {
  readonly by?: 'rejected' | 'allowed'
  readonly window?: keyof typeof windows
  readonly limit?: number
}

/** Which rejections are listed; every member narrows it. */
export interface RejectionsQuery {
  readonly policy?: string
  readonly kind?: string
  readonly id?: string
  readonly route?: string
  readonly cursor?: string
  readonly limit?: number
}

/** What {@link CallerOperations} read. */
export interface CallerOperationsOptions {
  readonly activity: Activity
  readonly limiter: Limiter
  readonly policies: AppliedLimits
  /** Attempts that this process rejects without asking the counters. */
  readonly blocks: AttemptBlocks
  /** The rules of all routes. */
  readonly rules: readonly RouteRule[]
  readonly storeWatch?: StoreWatch | undefined
  readonly operators: Operators
  readonly clock: Clock
}

/** What operators read about callers: who is limited, by which rule, and how close each one is. */
export class CallerOperations {
  readonly #options: CallerOperationsOptions

  constructor(options: CallerOperationsOptions) {
    this.#options = options
  }

  /** The callers with the highest counts. Those whose count is not known to be above zero are left out. */
  async top(request: FastifyRequest, query: TopQuery) {
    const { operators } = this.#options
    const { by = 'rejected', window = '1h', limit = 50, ...filter } = query
    const { from, counted, missed, scope } = await this.#count(windows[window])
    const ranked = rankCallers(counted, by, withCountedAddress(filter)).slice(0, limit)
    const items = operators.mustMask(request) ? ranked.map(maskIdentifier) : ranked
    return {
      items: items.map(formatRanked),
      error_bound: missed[by],
      from: new Date(from).toISOString(),
      scope,
    }
  }

  /** Requests by label over time. */
  async statistics(query: StatisticsQuery) {
    const steps = stepsOfQuery(query, this.#options.clock.now())
    const { value, scope } = await this.#options.activity.labels(query.by, steps)
    return { ...createSeries(query.by, steps, selectLabels(query, value)), scope }
  }

  /** A caller: the tier, the standing under every policy that applies, and the last hour. */
  async caller(request: FastifyRequest, params: Identifier) {
    const { policies, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const identifier = parseIdentifier(params)
    const [hour, { tier, standings }] = await Promise.all([
      this.#count(windows['1h'], identifier),
      this.#standings(identifier),
    ])
    const shown = operators.mustMask(request) ? maskIdentifier(identifier) : identifier
    const known = tier ?? standings.find((one) => one.isTier && one.isSeen)?.policy.name
    const { minutes, scope } = hour
    const clientPolicy = policies.clientPolicyOf(identifier)
    const override = policies.overrideOf(identifier)
    return formatCaller({ identifier: shown, tier: known, clientPolicy, override, standings, minutes, scope })
  }

  /**
   * Lets a caller in again: forgets what was counted under each policy that rejects it now, except policies that count
   * all callers together. The change is recorded before it is made.
   */
  async unblock(request: FastifyRequest, params: Identifier) {
    const { limiter, operators, policies, blocks } = this.#options
    operators.refuseGuesses(request, params.kind)
    const identifier = parseIdentifier(params)
    const rejecting = (await this.#standings(identifier)).standings.filter(({ decision }) => !decision.allowed)
    const own = rejecting.filter(({ policy }) => !policy.shared).map(({ policy }) => policy)
    const names = own.map(({ name }) => name)
    operators.requireOwner(request, attemptLimitsOf(own, policies.limits()))
    await operators.record(request, { action: 'limits.unblock', identifier, after: { policies: names } })
    for (const policy of own) {
      await requireStore(limiter.reset(policy, identifier))
      blocks.delete(policy.name, identifier)
    }
    const after = await Promise.all(rejecting.map(({ policy }) => limiter.peek(policy, identifier)))
    return {
      policies: names,
      still_rejected: after
        .filter(({ allowed }) => !allowed)
        .map(({ policy, retryAfterSeconds }) => ({ policy: policy.name, retry_after: retryAfterSeconds })),
    }
  }

  /** How close callers come to a policy. @throws Problem 400 for an unknown one */
  async use(name: string) {
    const policy = findLimit(this.#options.policies.limits(), name, 400)
    const [minutes, hours] = await Promise.all([this.#allowed(windows['1h']), this.#allowed(windows['24h'])])
    const use = useOf(policy, { minutes: minutes.value, hours: hours.value })
    return formatUse(policy, use, { missed: missedOf(minutes), scope: bothScopes(minutes, hours) })
  }

  /** The last rejections, newest first. */
  async rejections(request: FastifyRequest, query: RejectionsQuery) {
    const { activity, operators } = this.#options
    if (query.id !== undefined) operators.refuseGuesses(request, query.kind)
    const { value, scope } = await activity.rejections()
    const { items, next } = selectRejections(value, withCountedAddress(query))
    const masked = operators.mustMask(request)
      ? items.map((item) => ({ ...item, identifier: maskIdentifier(item.identifier) }))
      : items
    return { items: masked.map(formatRejection), ...(next === undefined ? {} : { next }), scope }
  }

  /** Whether the counter store answers, since when it does not, and what policies do then. */
  store() {
    const { storeWatch, policies } = this.#options
    return formatStore(storeWatch?.states() ?? [], policies.limits())
  }

  /** The tier of a caller, and the standing under every policy that may count it. */
  async #standings(identifier: Identifier) {
    const { limiter, policies, rules } = this.#options
    const [{ counted }, tier] = await Promise.all([
      this.#count(windows['24h'], identifier),
      policies.tierOf(identifier),
    ])
    const seen = [...counted.allowed, ...counted.rejected].flatMap((entry) => entry.policies)
    const clientPolicy = policies.clientPolicyOf(identifier)
    const { inPlaceOf } = policies
    const limits = policies.limits()
    const applying = policiesOfCaller({ identifier, tier, clientPolicy, inPlaceOf, seen, limits, rules })
    const standings = await Promise.all(
      applying.map(async (one) => ({
        ...one,
        limitsAttempts: limits.attempts.has(one.policy.name),
        decision: await limiter.peek(one.policy, identifier),
      })),
    )
    return { tier, standings }
  }

  #allowed(window: Window): Promise<CallerReading> {
    const { activity, clock } = this.#options
    return activity.callers('allowed', stepsUntil(clock.now(), window))
  }

  async #count(window: Window, only?: Identifier) {
    const { activity, clock } = this.#options
    const { stepMs } = window
    const now = clock.now()
    const steps = stepsUntil(now, window)
    const [allowed, rejected] = await Promise.all([
      activity.callers('allowed', steps).then(onlyOf(only)),
      activity.callers('rejected', steps).then(onlyOf(only)),
    ])
    const counted: CountedCallers = { allowed: callersOf(allowed), rejected: callersOf(rejected) }
    const missed = { allowed: missedOf(allowed), rejected: missedOf(rejected) }
    const from = Math.max(steps.from, stepAt(now - allowed.maxAgeMs, stepMs))
    const minutes = stepStarts(steps).map((at) => ({
      at,
      allowed: countIn(allowed, at, stepMs),
      rejected: countIn(rejected, at, stepMs),
    }))
    return { from, counted, missed, minutes, scope: bothScopes(allowed, rejected) }
  }
}

type CallerReading = Reading<CallerStep[]>
type Window = (typeof windows)[keyof typeof windows]

const stepsUntil = (now: number, { lengthMs, stepMs }: Window): Steps => ({
  stepMs,
  from: stepAt(now - lengthMs + stepMs, stepMs),
  to: now,
})

const onlyOf = (only: Identifier | undefined) => (reading: CallerReading) =>
  only === undefined
    ? reading
    : {
        ...reading,
        value: reading.value.map((step) => ({
          ...step,
          callers: step.callers.filter(({ kind, id }) => kind === only.kind && id === only.id),
        })),
      }

const callersOf = ({ value }: CallerReading): CallerCount[] => value.flatMap(({ callers }) => callers)
const missedOf = ({ value }: CallerReading): number => value.reduce((sum, { missed }) => sum + missed, 0)

function countIn({ value }: CallerReading, start: number, stepMs: number): number {
  const steps = value.filter(({ at }) => stepAt(at, stepMs) === start)
  return steps.flatMap(({ callers }) => callers).reduce((sum, { count }) => sum + count, 0)
}

/** Both have to be read from the shared history to be complete. */
const bothScopes = (one: CallerReading, other: CallerReading) => (one.scope === 'all' ? other.scope : one.scope)

/** An address is looked for as it is counted. */
function withCountedAddress<Query extends { readonly kind?: string; readonly id?: string }>(query: Query): Query {
  const { kind, id } = query
  return kind === undefined || id === undefined ? query : { ...query, ...parseIdentifier({ kind, id }) }
}

function selectRejections(all: readonly Rejection[], query: RejectionsQuery): Page<Rejection> {
  const { policy, kind, id, route, cursor, limit } = query
  const matching = all.filter(
    (one) =>
      (policy === undefined || one.policy === policy) &&
      (kind === undefined || one.identifier.kind === kind) &&
      (id === undefined || one.identifier.id === id) &&
      (route === undefined || one.route === route),
  )
  const cursors = cursorsOf(matching)
  const from = cursor === undefined ? 0 : matching.findIndex((one) => cursors.get(one) === cursor) + 1
  const rest = cursor !== undefined && from === 0 ? [] : matching.slice(from)
  const page = createPage(rest.slice(0, limit ?? 50), { limit: limit ?? 50 }, (one) => cursors.get(one) ?? '')
  return rest.length > page.items.length ? page : { items: page.items }
}

/**
 * The cursors behind rejections, newest first: when each was, and its place among those of that millisecond, from the
 * oldest. A cursor is shown to callers whose ids are masked, so it has neither an id nor a digest of one.
 */
function cursorsOf(rejections: readonly Rejection[]): ReadonlyMap<Rejection, string> {
  const byInstant = Map.groupBy(rejections, ({ at }) => at)
  const cursors = [...byInstant].flatMap(([at, some]) =>
    some.map((one, index) => [one, `${at}-${some.length - index}`] as const),
  )
  return new Map(cursors)
}
