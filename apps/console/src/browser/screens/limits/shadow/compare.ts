import type { LimitStatistics } from '@gatehouse/client'

/** What a policy did with requests, beside what its rules in shadow would have done. */
export interface Compared {
  readonly requests: number
  readonly rejected: number
  /** Rejected if the shadow applied. */
  readonly wouldReject: number
  /** Requests that are admitted now and would not be. */
  readonly more: number
  /** Requests that are rejected now and would not be, at most. */
  readonly fewer: number
}

/** A route or tier with its comparison. */
export interface ComparedRow extends Compared {
  readonly name: string
}

type Series = LimitStatistics['series']

const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0)

function sumOf(series: Series, outcome: string): number {
  return sum(series.filter(({ labels }) => labels.outcome === outcome).flatMap(({ values }) => values))
}

/** Compares what happened with what would have, over all steps. */
export function compare(series: Series): Compared {
  const [allowed, rejected, shadow, released] = ['allowed', 'rejected', 'shadow', 'released'].map((outcome) =>
    sumOf(series, outcome),
  ) as [number, number, number, number]
  const more = shadow - (rejected - released)
  return { requests: allowed + rejected, rejected, wouldReject: shadow, more, fewer: released }
}

/** Compares by the label that statistics are by; where the shadow would change most comes first. */
export function compareRows({ series }: Pick<LimitStatistics, 'series'>, by: 'route' | 'tier'): ComparedRow[] {
  const groups = Map.groupBy(series, ({ labels }) => labels[by] ?? '')
  const rows = [...groups].map(([name, some]) => ({ name, ...compare(some) }))
  return rows.sort((one, other) => other.more + other.fewer - one.more - one.fewer || other.requests - one.requests)
}

/** The requests of an outcome in each step. */
export function stepsOf({ series, at }: Pick<LimitStatistics, 'series' | 'at'>, outcome: string): number[] {
  const some = series.filter(({ labels }) => labels.outcome === outcome)
  return at.map((_, place) => sum(some.map(({ values }) => values[place] ?? 0)))
}
