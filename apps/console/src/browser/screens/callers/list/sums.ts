import type { LimitStatistics } from '@gatehouse/client'

/** The sums of a label over all steps. */
export interface LabelSums {
  readonly name: string
  readonly allowed: number
  readonly rejected: number
  readonly shadow: number
  /** Rules that rejected, with how often; the most frequent first. */
  readonly rules: readonly (readonly [rule: string, count: number])[]
}

/** Sums series by their label, the most rejected first. */
export function sumSeries({ series }: Pick<LimitStatistics, 'series'>, by: string): LabelSums[] {
  const groups = Map.groupBy(series, ({ labels }) => labels[by] ?? '')
  const rows = [...groups].map(([name, members]) => {
    const of = (outcome: string) => members.filter(({ labels }) => labels.outcome === outcome)
    const sum = (some: typeof members) => some.flatMap(({ values }) => values).reduce((a, b) => a + b, 0)
    const rejected = of('rejected')
    const rules = rejected.flatMap((one) =>
      one.labels.rule === undefined ? [] : [[one.labels.rule, sum([one])] as const],
    )
    return {
      name,
      allowed: sum(of('allowed')),
      rejected: sum(rejected),
      shadow: sum(of('shadow')),
      rules: rules.sort(([, one], [, other]) => other - one),
    }
  })
  return rows.sort((one, other) => other.rejected - one.rejected || other.allowed - one.allowed)
}
