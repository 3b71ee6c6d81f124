import { Problem } from '@gatehouse/kit'
import type { Identifier } from '@gatehouse/limiter'

/** The default maximum of open streams and WebSockets per caller in one process. */
export const defaultStreamsPerCaller = 100

/** Counts what each caller has open for long: streams and WebSockets, or the connections to one upstream. */
export interface OpenStreams {
  /** Counts one and returns a function that releases it. @throws Problem 429 above the maximum */
  acquire(caller: Identifier): () => void
  /**
   * Counts a response, or an upload, if it is still open after five seconds. If it is above the maximum then, it is ended
   * with the problem that says so. Returns a function that releases it.
   */
  acquireWhenLong(caller: Identifier, end: (problem: Problem) => void): () => void
}

/** What takes longer is a stream, whatever its type. */
const longMs = 5_000
/** An estimate: a slot is free when one of the caller's own streams ends. */
const retryAfterSeconds = 10

/** Counts streams, at most `maxPerCaller` per caller in this process. */
export function createOpenStreams(maxPerCaller: number): OpenStreams {
  return countByCaller(
    maxPerCaller,
    `This caller already has ${maxPerCaller} open streams and WebSockets, the maximum.`,
  )
}

/**
 * Counts the uploads and streams of each caller on the connections to one upstream: at most half of them, so that nobody
 * alone keeps everybody else out. The price is that one client with many long answers needs more connections.
 */
export function createConnectionShares(connections: number): OpenStreams {
  const share = Math.max(1, Math.floor(connections / 2))
  return countByCaller(
    share,
    `This caller already has ${share} open uploads and streams at the service behind this address, the maximum.`,
  )
}

function countByCaller(maxPerCaller: number, detail: string): OpenStreams {
  const tooMany = () => new Problem(429, detail, { headers: { 'retry-after': String(retryAfterSeconds) } })
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
      throw tooMany()
    },
    acquireWhenLong(caller, end) {
      let release: (() => void) | undefined
      const timer = setTimeout(() => {
        release = tryAcquire(caller)
        if (!release) end(tooMany())
      }, longMs).unref()
      return () => {
        clearTimeout(timer)
        release?.()
      }
    },
  }
}
