import { Problem } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'

/** The default maximum of open streams and WebSockets per caller in one process. */
export const defaultStreamsPerCaller = 100

/** Counts the open streams and WebSockets of each caller. */
export interface OpenStreams {
  /** Counts one and returns a function that releases it. @throws Problem 429 above the maximum */
  acquire(caller: Identifier): () => void
  /**
   * Counts a response if it is still open after five seconds, and ends it then if it is above the maximum. Returns a
   * function that releases it.
   */
  acquireWhenLong(caller: Identifier, end: () => void): () => void
}

/** A response that takes longer is a stream, whatever its type. */
const longResponseMs = 5_000
/** An estimate: a slot is free when one of the caller's own streams ends. */
const retryAfterSeconds = 10

/** Counts streams, at most `maxPerCaller` per caller. */
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
      throw new Problem(429, `This caller already has ${maxPerCaller} open streams and WebSockets, the maximum.`, {
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
