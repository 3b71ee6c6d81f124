import type { UpstreamFigures } from '../model/upstream-state.ts'

/** How long a window of figures is, in milliseconds; the figures are those of the last one to two. */
const windowMs = 300_000
/** Upper bounds of response times in milliseconds: each is 1.25 times the one before. */
const bounds = Array.from({ length: 52 }, (_, nth) => 0.5 * 1.25 ** nth)

interface Window {
  readonly index: number
  readonly times: Uint32Array
  failures: number
}

/** Counts answers and failures of an upstream, and how long answers take, in windows of five minutes. */
export class UpstreamStatistics {
  #current: Window = createWindow(0)
  #previous: Window = createWindow(0)
  #lastFailure: UpstreamFigures['lastFailure']

  /** Records an answer whose headers took so long, at a time in Unix milliseconds. */
  recordAnswer(now: number, milliseconds: number): void {
    const { times } = this.#windowAt(now)
    const bucket = bucketOf(milliseconds)
    times[bucket] = (times[bucket] ?? 0) + 1
  }

  /** Records a call without an answer. */
  recordFailure(now: number, error: unknown): void {
    this.#windowAt(now).failures++
    this.#lastFailure = { at: now, message: messageOf(error) }
  }

  /** The figures of the last five to ten minutes. */
  read(now: number): UpstreamFigures {
    this.#windowAt(now)
    const windows = [this.#previous, this.#current]
    const times = bounds.map((_, nth) => windows.reduce((sum, window) => sum + (window.times[nth] ?? 0), 0))
    const answers = times.reduce((sum, count) => sum + count, 0)
    const failures = windows.reduce((sum, window) => sum + window.failures, 0)
    return {
      calls: answers + failures,
      failures,
      p50Ms: quantile(times, answers * 0.5),
      p95Ms: quantile(times, answers * 0.95),
      lastFailure: this.#lastFailure,
    }
  }

  #windowAt(now: number): Window {
    const index = Math.floor(now / windowMs)
    if (index !== this.#current.index) {
      this.#previous = this.#current.index === index - 1 ? this.#current : createWindow(index - 1)
      this.#current = createWindow(index)
    }
    return this.#current
  }
}

const createWindow = (index: number): Window => ({ index, times: new Uint32Array(bounds.length), failures: 0 })

function bucketOf(milliseconds: number): number {
  if (milliseconds <= 0.5) return 0
  return Math.min(bounds.length - 1, Math.ceil(Math.log(milliseconds / 0.5) / Math.log(1.25)))
}

/** The bound of the bucket with the nth answer; undefined without one. */
function quantile(times: readonly number[], nth: number): number | undefined {
  let seen = 0
  for (const [bucket, count] of times.entries()) {
    seen += count
    if (count > 0 && seen >= nth) return Math.round((bounds[bucket] ?? 0) * 10) / 10
  }
  return undefined
}

/** The innermost cause says what failed: the connection, the time or the protocol. */
function messageOf(error: unknown): string {
  let innermost = error
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause
  const code = innermost instanceof Error && 'code' in innermost ? String(innermost.code) : undefined
  return code ?? (innermost instanceof Error ? innermost.message : String(innermost)).slice(0, 200)
}
