import { Problem } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'

/** How many streams and WebSockets one caller may hold at a time, in one process, when nothing else is configured. */
export const defaultStreamsPerCaller = 100

/** Counts the streams and WebSockets that each caller holds. */
export interface OpenStreams {
  /** Counts one; answers how to release it, once. @throws Problem 429 for one too many */
  acquire(caller: Identifier): () => void
  /**
   * For an answer that may turn out to be long: counted when it is still open after five seconds, and ended then if it
   * is one too many. Answers how to release it, once.
   */
  acquireWhenLong(caller: Identifier, end: () => void): () => void
}

/** An answer that takes longer than this is a stream, whatever its type says. */
const longResponseMs = 5_000
/** When to try again is anybody's guess: a place is free when one of the caller's own streams ends. */
const retryAfterSeconds = 10

/** A count of streams by caller, `most` each. */
export function createOpenStreams(maxPerCaller: number): OpenStreams {
  const counts = new Map<string, number>()

  function tryAcquire({ kind, id }: Identifier): (() => void) | undefined {
    const key = `${kind}:${id}`
    const count = counts.get(key) ?? 0
    if (count >= maxPerCaller) return undefined
    counts.set(key, count + 1)
    let open = true
    return () => {
      if (!open) return
      open = false
      const left = (counts.get(key) ?? 1) - 1
      if (left > 0) counts.set(key, left)
      else counts.delete(key)
    }
  }

  return {
    acquire(caller) {
      const release = tryAcquire(caller)
      if (release) return release
      throw new Problem(429, `There are ${maxPerCaller} streams and WebSockets of this caller open already.`, {
        headers: { 'retry-after': String(retryAfterSeconds) },
      })
    },
    acquireWhenLong(caller, end) {
      let release: (() => void) | undefined
      const timer = setTimeout(() => {
        release = tryAcquire(caller)
        if (!release) end()
      }, longResponseMs).unref()
      return () => {
        clearTimeout(timer)
        release?.()
      }
    },
  }
}
