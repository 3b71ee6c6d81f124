import { instantOf, Problem } from '@gatehouse/kit'
import { type LabelStep, labelResolutions, maxAgeMs, type Steps, stepAt, stepStarts } from '../../activity/history.ts'
import { labelText } from '../../activity/label-counts.ts'
import type { Dimension, LabelCount } from '../../activity/period.ts'

/** The lengths of steps in seconds. */
export const stepLengths = [60, 600, 3_600] as const

/** Which statistics are read. Times are of RFC 3339. */
export interface StatisticsQuery {
  readonly by: Dimension
  /** By policy, that one alone; by route or tier what its rules in shadow are compared with. */
  readonly policy?: string
  readonly from?: string
  readonly to?: string
  /** Seconds. */
  readonly step?: (typeof stepLengths)[number]
}

const hourMs = 3_600_000
const clockToleranceMs = 60_000

/**
 * The steps of a query: the last hour by default, in the shortest steps that are kept so long.
 * @throws Problem 400 when the range is empty, or longer than its steps are kept
 */
export function stepsOfQuery({ from, to, step }: StatisticsQuery, now: number): Steps {
  const end = to === undefined ? now + 1 : Math.min(instantOf(to, '/to'), now + clockToleranceMs)
  const start = from === undefined ? end - hourMs : instantOf(from, '/from')
  if (start >= end) throw invalid('/from', 'must be before `to`')
  const resolutions = labelResolutions(maxAgeMs.shared)
  const kept = resolutions.find(({ keepMs }) => start >= now - keepMs) ?? resolutions.at(-1)
  const stepMs = step === undefined ? (kept?.stepMs ?? hourMs) : step * 1_000
  const { keepMs = 0 } = resolutions.find((one) => one.stepMs === stepMs) ?? {}
  if (end - start > keepMs)
    throw invalid('/from', `must be at most ${keepMs / 1_000} seconds before \`to\` in steps of ${stepMs / 1_000}`)
  return { stepMs, from: stepAt(start, stepMs), to: end - 1 }
}

function invalid(pointer: string, detail: string): Problem {
  return new Problem(400, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}

/** The labels that a query is about: comparisons of a policy with its shadow are apart from the sums of all requests. */
export function selectLabels({ by, policy }: StatisticsQuery, counted: readonly LabelStep[]): LabelStep[] {
  const isWanted = (label: LabelCount) =>
    by === 'policy' ? policy === undefined || label.name === policy : label.policy === policy
  return counted.map(({ at, labels }) => ({ at, labels: labels.filter(isWanted) }))
}

/** Formats steps as series: the beginnings of the steps, and for each label a value for each step. */
export function createSeries(by: Dimension, steps: Steps, counted: readonly LabelStep[]) {
  const starts = stepStarts(steps)
  const places = new Map(starts.map((at, nth) => [at, nth]))
  const series = new Map<string, { readonly labels: Record<string, string>; readonly values: number[] }>()
  for (const { at, labels } of counted) {
    const place = places.get(stepAt(at, steps.stepMs))
    if (place === undefined) continue
    for (const label of labels) {
      const text = labelText(label)
      const one = series.get(text) ?? { labels: labelsOf(by, label), values: starts.map(() => 0) }
      one.values[place] = (one.values[place] ?? 0) + label.count
      series.set(text, one)
    }
  }
  return {
    step: steps.stepMs / 1_000,
    at: starts.map((at) => new Date(at).toISOString()),
    series: [...series.values()].sort((one, other) => total(other.values) - total(one.values)),
  }
}

function labelsOf(by: Dimension, { name, outcome, rule, policy }: LabelCount): Record<string, string> {
  const further = { ...(rule === undefined ? {} : { rule }), ...(policy === undefined ? {} : { policy }) }
  return { [by]: name, outcome, ...further }
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
