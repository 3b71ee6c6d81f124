import { setMaxListeners } from 'node:events'

/**
 * A deadline shared by calls that start at about the same time: an abort signal and a timer for each call would cost more
 * than the rest of it.
 */
export interface Deadline {
  /** Aborted when the deadline passes. */
  readonly signal: AbortSignal
  /** Calls `onTimeout` when the deadline passes, unless the returned function is called before. */
  watch(onTimeout: (error: Error) => void): () => void
}

/** When each deadline's signal is aborted, by `performance.now()`. */
const endsOf = new WeakMap<AbortSignal, number>()

/**
 * Whether a signal is aborted, or belongs to a deadline that has passed: after a process stood still its sockets are served
 * before its timers.
 */
export function hasEnded(signal: AbortSignal): boolean {
  return signal.aborted || performance.now() >= (endsOf.get(signal) ?? Number.POSITIVE_INFINITY)
}

/** Calls within this fraction of the timeout share a deadline. */
const sharedFraction = 0.01

/**
 * Creates a function that returns a deadline for a call that starts now: `timeoutMs` milliseconds from now, or up to one
 * percent later. `reason` is the message of the error.
 */
export function createDeadlines(timeoutMs: number, reason: string): () => Deadline {
  const sliceMs = Math.max(1, timeoutMs * sharedFraction)
  let current: { readonly until: number; readonly deadline: Deadline } | undefined
  return () => {
    const now = performance.now()
    if (!current || now > current.until)
      current = { until: now + sliceMs, deadline: startDeadline(timeoutMs + sliceMs, reason) }
    return current.deadline
  }
}

function startDeadline(timeoutMs: number, reason: string): Deadline {
  const controller = new AbortController()
  const watchers = new Set<(error: Error) => void>()
  setMaxListeners(0, controller.signal)
  endsOf.set(controller.signal, performance.now() + timeoutMs)
  const timer = setTimeout(() => {
    const error = new Error(reason)
    controller.abort(error)
    for (const onTimeout of watchers) onTimeout(error)
  }, timeoutMs)
  timer.unref()
  return {
    signal: controller.signal,
    watch(onTimeout) {
      if (watchers.size === 0) timer.ref()
      watchers.add(onTimeout)
      return () => {
        watchers.delete(onTimeout)
        if (watchers.size === 0) timer.unref()
      }
    },
  }
}
