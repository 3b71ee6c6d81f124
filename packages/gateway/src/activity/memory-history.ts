import { parseCallerKey } from './caller-key.ts'
import {
  type CallerStep,
  callerResolutions,
  type History,
  type LabelStep,
  labelResolutions,
  maxAgeMs,
  maxCallersPerStep,
  type Resolution,
  type Steps,
  stepAt,
  stepStarts,
} from './history.ts'
import { labelText, parseLabel } from './label-counts.ts'
import type { CallerSketch, Dimension, LabelCount, Period, Rejection } from './period.ts'
import { maxRejections } from './recorder.ts'

type Outcome = 'allowed' | 'rejected'

interface StoredCallers {
  readonly counts: Map<string, { count: number; at: number }>
  missed: number
}

/** The history of this process, in memory of bounded size. */
export class MemoryHistory implements History {
  readonly maxAgeMs = maxAgeMs.process
  readonly #callers = { allowed: createSteps<StoredCallers>(), rejected: createSteps<StoredCallers>() }
  readonly #labels = createSteps<Map<string, number>>()
  #rejections: Rejection[] = []

  async add(period: Period): Promise<void> {
    const { at, labels, rejections } = period
    for (const resolution of callerResolutions(this.maxAgeMs))
      for (const outcome of ['allowed', 'rejected'] as const)
        addCallers(this.#callers[outcome], { at, resolution }, period[outcome])
    for (const resolution of labelResolutions(this.maxAgeMs)) addLabels(this.#labels, { at, resolution }, labels)
    this.#rejections = [...this.#rejections, ...rejections].slice(-maxRejections)
  }

  async callers(outcome: Outcome, steps: Steps): Promise<CallerStep[]> {
    const stored = this.#callers[outcome].get(steps.stepMs)
    return stepStarts(steps).flatMap((at) => {
      const step = stored?.get(at)
      if (step === undefined) return []
      const callers = [...step.counts].map(([key, { count, at: last }]) => ({
        ...parseCallerKey(key),
        count,
        at: last,
      }))
      return [{ at, callers, missed: step.missed }]
    })
  }

  async labels(by: Dimension, steps: Steps): Promise<LabelStep[]> {
    const stored = this.#labels.get(steps.stepMs)
    return stepStarts(steps).flatMap((at) => {
      const step = stored?.get(at)
      if (step === undefined) return []
      const labels = [...step].map(([text, count]) => ({ ...parseLabel(text), count }))
      return [{ at, labels: labels.filter((label) => label.by === by) }]
    })
  }

  async rejections(): Promise<Rejection[]> {
    return this.#rejections.toReversed()
  }
}

/** Steps by their length, then by their beginning. */
type StoredSteps<Step> = Map<number, Map<number, Step>>

const createSteps = <Step>(): StoredSteps<Step> => new Map()

/** Where a period is added. */
interface Place {
  readonly at: number
  readonly resolution: Resolution
}

function stepOf<Step>(steps: StoredSteps<Step>, { at, resolution }: Place, create: () => Step): Step {
  const { stepMs, keepMs } = resolution
  const stored = steps.get(stepMs) ?? new Map<number, Step>()
  steps.set(stepMs, stored)
  const start = stepAt(at, stepMs)
  const step = stored.get(start) ?? create()
  stored.set(start, step)
  for (const old of stored.keys()) if (old < at - keepMs) stored.delete(old)
  return step
}

function addCallers(steps: StoredSteps<StoredCallers>, place: Place, { entries, missed }: CallerSketch): void {
  if (entries.length === 0) return
  const step = stepOf(steps, place, () => ({ counts: new Map(), missed: 0 }))
  step.missed += missed
  for (const { key, count, at } of entries) {
    const known = step.counts.get(key)
    if (known === undefined) step.counts.set(key, { count, at })
    else {
      known.count += count
      known.at = Math.max(known.at, at)
    }
  }
  dropRarest(step)
}

/** Sorted once for many additions. */
function dropRarest(step: StoredCallers): void {
  if (step.counts.size <= 1.5 * maxCallersPerStep) return
  const rarest = [...step.counts].sort(([, one], [, other]) => other.count - one.count).slice(maxCallersPerStep)
  step.missed += rarest[0]?.[1].count ?? 0
  for (const [key] of rarest) step.counts.delete(key)
}

function addLabels(steps: StoredSteps<Map<string, number>>, place: Place, labels: readonly LabelCount[]): void {
  if (labels.length === 0) return
  const step = stepOf(steps, place, () => new Map())
  for (const label of labels) {
    const text = labelText(label)
    step.set(text, (step.get(text) ?? 0) + label.count)
  }
}
