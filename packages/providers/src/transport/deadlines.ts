import { setMaxListeners } from 'node:events'

/** A deadline that calls begun at about the same time share: a signal and a timer for each would cost more than the rest. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Has `onLate` called when it passes, until the answer is called. */
  watch(onLate: (error: Error) => void): () => void
}

/** Deadlines are told apart to this share of their length. */
const fineness = 0.01

/** Deadlines of `milliseconds` from when they are asked for, or a hundredth later. */
export function createDeadlines(milliseconds: number, reason: string): () => Deadline {
  const slice = Math.max(1, milliseconds * fineness)
  let current: { readonly until: number; readonly deadline: Deadline } | undefined
  return () => {
    const now = performance.now()
    if (!current || now > current.until)
      current = { until: now + slice, deadline: startDeadline(milliseconds + slice, reason) }
    return current.deadline
  }
}

function startDeadline(milliseconds: number, reason: string): Deadline {
  const ending = new AbortController()
  const watching = new Set<(error: Error) => void>()
  setMaxListeners(0, ending.signal)
  const timer = setTimeout(() => {
    const error = new Error(reason)
    ending.abort(error)
    for (const onLate of watching) onLate(error)
  }, milliseconds)
  timer.unref()
  return {
    signal: ending.signal,
    watch(onLate) {
      if (watching.size === 0) timer.ref()
      watching.add(onLate)
      return () => {
        watching.delete(onLate)
        if (watching.size === 0) timer.unref()
      }
    },
  }
}
