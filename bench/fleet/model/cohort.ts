/** Events of one bucket whose arrival was spread evenly over a span of time: followed together, counted one by one. */
export interface Cohort {
  readonly bucket: number
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
  /** Whether their acceptance is committed: what is delivered again is then a duplicate. */
  isStored: boolean
}

/** Divides a cohort into its oldest `count` events and the rest. */
export function splitCohort(cohort: Cohort, count: number): readonly [Cohort, Cohort] {
  const middle = cohort.fromMs + ((cohort.toMs - cohort.fromMs) * count) / cohort.count
  return [
    { ...cohort, toMs: middle, count },
    { ...cohort, fromMs: middle, count: cohort.count - count },
  ]
}

export function sizeOf(cohorts: Iterable<{ readonly count: number }>): number {
  let sum = 0
  for (const { count } of cohorts) sum += count
  return sum
}

const slices = 8

/** Calls `each` with how long events of the cohort took until `now`, in at most eight slices that add up to its count. */
export function forEachAge(cohort: Cohort, now: number, each: (ageMs: number, count: number) => void): void {
  const parts = Math.min(slices, cohort.count)
  const step = (cohort.toMs - cohort.fromMs) / parts
  let counted = 0
  for (let part = 0; part < parts; part++) {
    const through = Math.round((cohort.count * (part + 1)) / parts)
    each(now - (cohort.fromMs + (part + 0.5) * step), through - counted)
    counted = through
  }
}
