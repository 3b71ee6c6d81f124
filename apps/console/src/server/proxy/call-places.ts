import { Problem } from '@gatehouse/kit'

/** What bounds the calls under way. Durations are in milliseconds. */
export interface CallRules {
  /** Calls that one holder has under way at a service at once. */
  readonly perHolder: number
  /** Calls of one holder that wait for the end of another. */
  readonly waiting: number
  /** How long a call waits at most. */
  readonly waitMs: number
}

/** The places of the calls to services: those of one holder, such as a user, take none from the others. */
export interface CallPlaces {
  /**
   * Takes a place; while the holder has none left it waits for one of its own. Returns how to give it back.
   * @throws Problem 429 when too many wait, or one waited too long; the reason of the signal when that is aborted
   */
  take(holder: string, signal: AbortSignal): Promise<() => void>
}

interface HolderCalls {
  active: number
  readonly waiting: Array<() => void>
}

/** Counts the calls of each holder. */
export function createCallPlaces({ perHolder, waiting, waitMs }: CallRules): CallPlaces {
  const byHolder = new Map<string, HolderCalls>()

  const release = (holder: string, calls: HolderCalls) => {
    const next = calls.waiting.shift()
    // The place goes on to the one that waits longest.
    if (next !== undefined) return next()
    calls.active--
    if (calls.active === 0) byHolder.delete(holder)
  }

  const once = (holder: string, calls: HolderCalls) => {
    let isActive = true
    return () => {
      if (isActive) release(holder, calls)
      isActive = false
    }
  }

  return {
    async take(holder, signal) {
      signal.throwIfAborted()
      const calls = byHolder.get(holder) ?? { active: 0, waiting: [] }
      byHolder.set(holder, calls)
      if (calls.active < perHolder) {
        calls.active++
        return once(holder, calls)
      }
      if (calls.waiting.length >= waiting) throw tooMany()
      await waitIn(calls, AbortSignal.any([signal, AbortSignal.timeout(waitMs)])).catch((reason) => {
        throw signal.aborted ? reason : tooMany()
      })
      return once(holder, calls)
    },
  }
}

function waitIn({ waiting }: HolderCalls, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      waiting.splice(waiting.indexOf(enter), 1)
      reject(signal.reason)
    }
    const enter = () => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    waiting.push(enter)
    signal.addEventListener('abort', leave, { once: true })
  })
}

function tooMany(): Problem {
  return new Problem(429, 'Too many of your calls are under way; try again in a moment.', {
    headers: { 'retry-after': '5' },
  })
}
