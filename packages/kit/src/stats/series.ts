import { type Static, Type } from 'typebox'
import { Problem } from '../problem.ts'
import { instantOf } from '../text/instant.ts'
import type { StatQuery, StatRow } from './store.ts'
import { otherLabel, type StatLabels } from './tally.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
/** The most steps of an answer. */
export const maxStatSteps = 400
const maxSeries = 200
/** Steps below an hour reach back no further than minutes are read in reasonable time. */
const maxMinutesMs = 2 * dayMs
const maxRangeMs = 400 * dayMs
const defaultRangeMs = dayMs

/** The members that every query of statistics has. */
export const statRangeMembers = {
  from: Type.Optional(
    Type.String({ format: 'date-time', description: 'The beginning; a day ago without it. Rounded down to a step.' }),
  ),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'The end, which is left out; now without it.' })),
  step: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: 30 * 86_400,
      multipleOf: 60,
      description:
        'Seconds of a step; without it, so that there are at most 120. Whole hours where the range is above two days.',
    }),
  ),
}

/** The answer of statistics. */
export const StatSeriesSchema = Type.Object(
  {
    step: Type.Integer({ description: 'Seconds of a step.' }),
    at: Type.Array(Type.String({ format: 'date-time' }), { description: 'When each step began.' }),
    series: Type.Array(
      Type.Object({
        labels: Type.Record(Type.String(), Type.String()),
        values: Type.Array(Type.Union([Type.Number(), Type.Null()]), {
          description: 'One for each step; null where there is none.',
        }),
      }),
    ),
  },
  { title: 'StatSeries' },
)

/** Values over time, one line for each combination of labels. */
export type StatSeries = Static<typeof StatSeriesSchema>

/** The range that a query names. */
export interface StatRangeQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly step?: number | undefined
}

const naturalSteps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080].map((count) => count * minuteMs)
const aimedSteps = 120

/**
 * The steps of a query, whole ones.
 * @throws Problem 400 naming what was expected
 */
export function parseStatRange(query: StatRangeQuery, now: number): Omit<StatQuery, 'measure'> {
  const end = query.to === undefined ? now : instantOf(query.to, '/to')
  const begin = query.from === undefined ? end - defaultRangeMs : instantOf(query.from, '/from')
  const rangeMs = end - begin
  if (rangeMs <= 0) throw fault('/from', 'must be before `to`')
  if (rangeMs > maxRangeMs) throw fault('/from', 'must be at most 400 days before `to`')
  const stepMs = query.step === undefined ? naturalStep(rangeMs) : query.step * 1_000
  if (rangeMs > maxMinutesMs && stepMs % 3_600_000 !== 0)
    throw fault('/step', 'must be a multiple of 3600 where the range is above two days')
  if (rangeMs / stepMs > maxStatSteps) throw fault('/step', `must divide the range into at most ${maxStatSteps}`)
  // What is counted at this very moment belongs to the step that begins now.
  const to = query.to === undefined ? (Math.floor(end / stepMs) + 1) * stepMs : Math.ceil(end / stepMs) * stepMs
  return { from: Math.floor(begin / stepMs) * stepMs, to, stepMs }
}

function naturalStep(rangeMs: number): number {
  const fitting = naturalSteps.filter((stepMs) => rangeMs <= maxMinutesMs || stepMs % 3_600_000 === 0)
  return fitting.find((stepMs) => rangeMs / stepMs <= aimedSteps) ?? 7 * dayMs
}

function fault(pointer: string, detail: string): Problem {
  return new Problem(400, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}

/** Sums rows into series by the named labels; of more than 200 the smallest make one, `other`. */
export function sumSeries(
  rows: readonly StatRow[],
  query: Omit<StatQuery, 'measure'>,
  by: readonly string[],
): StatSeries {
  const places = placesOf(query)
  const byKey = new Map<string, { labels: StatLabels; values: number[]; total: number }>()
  for (const { at, labels: all, value } of rows) {
    const place = (at - query.from) / query.stepMs
    const labels = Object.fromEntries(by.map((name) => [name, all[name] ?? otherLabel]))
    const key = JSON.stringify(labels)
    const series = byKey.get(key) ?? { labels, values: places.map(() => 0), total: 0 }
    byKey.set(key, series)
    if (series.values[place] === undefined) continue
    series.values[place] += value
    series.total += value
  }
  const series = [...byKey.values()].sort((a, b) => b.total - a.total)
  const rest = series.slice(maxSeries)
  const named = series.slice(0, maxSeries).map(({ labels, values }) => ({ labels, values }))
  return { ...headOf(query, places), series: rest.length === 0 ? named : [...named, sumOf(rest, by, places.length)] }
}

function sumOf(series: ReadonlyArray<{ values: readonly number[] }>, by: readonly string[], length: number) {
  const labels = Object.fromEntries(by.map((name) => [name, otherLabel]))
  return {
    labels,
    values: Array.from({ length }, (_, place) => series.reduce((sum, one) => sum + (one.values[place] ?? 0), 0)),
  }
}

function placesOf({ from, to, stepMs }: Omit<StatQuery, 'measure'>): number[] {
  return Array.from({ length: Math.round((to - from) / stepMs) }, (_, place) => from + place * stepMs)
}

function headOf({ stepMs }: Omit<StatQuery, 'measure'>, places: readonly number[]) {
  return { step: stepMs / 1_000, at: places.map((at) => new Date(at).toISOString()) }
}

/** The quantiles that latencies are answered with. */
const quantiles = ['0.5', '0.95', '0.99'] as const

/**
 * Quantiles of a histogram whose rows have the upper bound of their bucket in the label `le`, in seconds, each counted in
 * its own bucket alone; `+Inf` is the last. Interpolated within the bucket, as Prometheus does; null without a count.
 * `bounds` are those of the buckets, ascending.
 */
export function quantileSeries(
  rows: readonly StatRow[],
  query: Omit<StatQuery, 'measure'>,
  { by, bounds }: { readonly by: readonly string[]; readonly bounds: readonly number[] },
): StatSeries {
  const places = placesOf(query)
  const groups = Map.groupBy(rows, ({ labels }) => JSON.stringify(by.map((name) => labels[name] ?? otherLabel)))
  const series = [...groups].slice(0, maxSeries).flatMap(([key, mine]) => {
    const values = JSON.parse(key) as string[]
    const labels = Object.fromEntries(by.map((name, index) => [name, values[index] ?? otherLabel]))
    const byPlace = Map.groupBy(mine, ({ at }) => at)
    return quantiles.map((quantile) => ({
      labels: { ...labels, quantile },
      values: places.map((at) => quantileOf(byPlace.get(at) ?? [], Number(quantile), bounds)),
    }))
  })
  return { ...headOf(query, places), series }
}

function quantileOf(rows: readonly StatRow[], quantile: number, bounds: readonly number[]): number | null {
  const counts = [...bounds.map(String), '+Inf'].map((bound) =>
    rows.reduce((sum, { labels: { le }, value }) => (le === bound ? sum + value : sum), 0),
  )
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = quantile * total
  let below = 0
  for (const [index, count] of counts.entries()) {
    const lower = bounds[index - 1] ?? 0
    const upper = bounds[index]
    // Of what is above the last bound only that is known.
    if (upper === undefined) return lower
    if (count > 0 && below + count >= rank) return lower + (upper - lower) * ((rank - below) / count)
    below += count
  }
  return null
}

/** The bucket of a duration: the label `le` of the smallest bound that is not below it. Bounds ascend. */
export function bucketLabel(bounds: readonly number[], seconds: number): string {
  return String(bounds.find((bound) => seconds <= bound) ?? '+Inf')
}
