import { useMemo } from 'react'
import { useFilters } from './filters.ts'

const hourMs = 3_600_000

/** The ranges that screens of figures offer, in milliseconds, with the step of their charts in seconds. */
export const ranges = {
  '1h': { lengthMs: hourMs, step: 60 },
  '24h': { lengthMs: 24 * hourMs, step: 900 },
  '7d': { lengthMs: 7 * 24 * hourMs, step: 3_600 },
  '30d': { lengthMs: 30 * 24 * hourMs, step: 21_600 },
} as const

/** The name of a range. */
export type RangeName = keyof typeof ranges

const defaultRange: RangeName = '24h'

/** A range up to now, and its name in the address. */
export interface Range {
  readonly name: RangeName
  readonly from: string
  readonly step: number
}

/** The range in the address. Its beginning stays the same within a step, so that an answer serves for as long. */
export function useRange(): readonly [range: Range, choose: (name: RangeName) => void] {
  const [{ range: chosen, ...others }, apply] = useFilters(['range', 'channel'] as const)
  const name: RangeName = chosen !== undefined && chosen in ranges ? (chosen as RangeName) : defaultRange
  const { lengthMs, step } = ranges[name]
  const begin = Math.floor((Date.now() - lengthMs) / (step * 1_000)) * step * 1_000
  const range = useMemo(() => ({ name, step, from: new Date(begin).toISOString() }), [name, step, begin])
  return [range, (next) => apply({ ...others, ...(next === defaultRange ? {} : { range: next }) })]
}
