import { Problem } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'

/** How many streams and WebSockets one caller may hold at a time, in one process, when nothing else is configured. */
export const defaultStreamsPerCaller = 100

/** Counts the streams and WebSockets that each caller holds. */
export interface OpenStreams {
  /** Counts one; answers how to release it, once. @throws Problem 429 for one too many */
  hold(caller: Identifier): () => void
  /**
   * For an answer that may turn out to be long: counted when it is still open after five seconds, and ended then if it
   * is one too many. Answers how to release it, once.
   */
  holdLong(caller: Identifier, end: () => void): () => void
}

/** An answer that takes longer than this is a stream, whatever its type says. */
const longAnswerMs = 5_000
/** When to try again is anybody's guess: a place is free when one of the caller's own streams ends. */
const retryAfterSeconds = 10

/** A count of streams by caller, `most` each. */
export function createOpenStreams(most: number): OpenStreams {
  const held = new Map<string, number>()

  function tryHold({ kind, id }: Identifier): (() => void) | undefined {
    const key = `${kind}:${id}`
    const count = held.get(key) ?? 0
    if (count >= most) return undefined
    held.set(key, count + 1)
    let open = true
    return () => {
      if (!open) return
      open = false
      const left = (held.get(key) ?? 1) - 1
      if (left > 0) held.set(key, left)
      else held.delete(key)
    }
  }

  return {
    hold(caller) {
      const release = tryHold(caller)
      if (release) return release
      throw new Problem(429, `There are ${most} streams and WebSockets of this caller open already.`, {
        headers: { 'retry-after': String(retryAfterSeconds) },
      })
    },
    holdLong(caller, end) {
      let release: (() => void) | undefined
      const timer = setTimeout(() => {
        release = tryHold(caller)
        if (!release) end()
      }, longAnswerMs).unref()
      return () => {
        clearTimeout(timer)
        release?.()
      }
    },
  }
}
