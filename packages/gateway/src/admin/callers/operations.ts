import { type Clock, createPage, type Page } from '@gatehouse/kit'
import type { Identifier, Limiter } from '@gatehouse/limiter'
import type { FastifyRequest } from 'fastify'
import type { Activity, Reading } from '../../activity/activity.ts'
import type { CallerCount } from '../../activity/caller-key.ts'
import { type CallerStep, stepAt, stepStarts } from '../../activity/history.ts'
import type { Rejection } from '../../activity/period.ts'
import { type CountedCallers, type RankingFilter, rankCallers } from '../../activity/ranking.ts'
import type { StoreWatch } from '../../activity/store-watch.ts'
import type { Limits } from '../../config/limits.ts'
import type { RouteRule } from '../../model/route-rule.ts'
import { maskIdentifier } from '../limit-masking.ts'
import { parseIdentifier } from '../limit-operations.ts'
import type { Operators } from '../operators.ts'
import { policiesOfCaller } from './policies.ts'
import { formatCaller, formatRanked, formatRejection, formatStore } from './responses.ts'
import { createSeries, type StatisticsQuery, stepsOfQuery } from './statistics.ts'

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
  /** The current limits. */
  limits(): Limits
  /** The tier of a user or client; undefined for other callers. */
  tierOf(identifier: Identifier): Promise<string | undefined>
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
    return { ...createSeries(query.by, steps, value), scope }
  }

  /** A caller: the tier, the standing under every policy that applies, and the last hour. */
  async caller(request: FastifyRequest, params: Identifier) {
    const { limiter, limits, tierOf, rules, operators } = this.#options
    operators.refuseGuesses(request, params.kind)
    const identifier = parseIdentifier(params)
    const [day, hour, tier] = await Promise.all([
      this.#count(windows['24h'], identifier),
      this.#count(windows['1h'], identifier),
      tierOf(identifier),
    ])
    const seen = [...day.counted.allowed, ...day.counted.rejected].flatMap((entry) => entry.policies)
    const applying = policiesOfCaller({ identifier, tier, seen, limits: limits(), rules })
    const standings = await Promise.all(
      applying.map(async ({ policy, ...rest }) => ({ ...rest, decision: await limiter.peek(policy, identifier) })),
    )
    const shown = operators.mustMask(request) ? maskIdentifier(identifier) : identifier
    const known = tier ?? applying.find((one) => one.isTier && one.isSeen)?.policy.name
    return formatCaller({ identifier: shown, tier: known, standings, minutes: hour.minutes, scope: hour.scope })
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
    const { storeWatch, limits } = this.#options
    return formatStore(storeWatch?.states() ?? [], limits())
  }

  async #count({ lengthMs, stepMs }: (typeof windows)[keyof typeof windows], only?: Identifier) {
    const { activity, clock } = this.#options
    const now = clock.now()
    const steps = { stepMs, from: stepAt(now - lengthMs + stepMs, stepMs), to: now }
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
