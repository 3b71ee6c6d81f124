import type { Log } from './log.ts'

/** What a worker does in one pass, and how it pauses. */
export interface WorkerOptions {
  readonly name: string
  readonly log: Log
  /** Runs one pass and resolves with whether more work is likely waiting. After an error the pass runs again. */
  readonly pass: (signal: AbortSignal) => Promise<boolean>
  /** The pause after a pass that found nothing, in milliseconds; a function is called after each such pass. */
  readonly idleMs: number | (() => number)
  /** Whether a pause keeps the process alive. Default: true. */
  readonly keepsAlive?: boolean
}

/** A loop that runs passes until it is stopped. */
export interface Worker {
  readonly name: string
  /** Ends the pause early, because there is work. Only a hint: the pause ends by itself too. */
  resume(): void
  /** Starts no further pass; resolves when the running one has ended. */
  stop(): Promise<void>
}

const maxErrorPauseMs = 30_000

/**
 * Starts a worker. A pass that throws is logged and runs again after a pause that doubles up to 30 s.
 *
 * @example
 * const worker = startWorker({ name: 'purge', log, idleMs: 60_000, pass: async () => (await purgeRows()) > 0 })
 * // …
 * await worker.stop()
 */
export function startWorker(options: WorkerOptions): Worker {
  const { idleMs } = options
  const stopping = new AbortController()
  let isResumed = false
  let endPause: (() => void) | undefined
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(done, milliseconds)
      if (options.keepsAlive === false) timer.unref()
      function done() {
        clearTimeout(timer)
        endPause = undefined
        resolve()
      }
      endPause = done
      if (stopping.signal.aborted || isResumed) done()
    })
  const loop = async () => {
    let failures = 0
    while (!stopping.signal.aborted) {
      isResumed = false
      try {
        const more = await options.pass(stopping.signal)
        failures = 0
        if (!more) await pause(typeof idleMs === 'function' ? idleMs() : idleMs)
      } catch (error) {
        failures++
        options.log.error({ err: error, worker: options.name }, 'a pass failed and will be retried')
        isResumed = false
        await pause(Math.min(maxErrorPauseMs, 100 * 2 ** failures) * (0.5 + Math.random() / 2))
      }
    }
  }
  const done = loop()
  return {
    name: options.name,
    resume() {
      isResumed = true
      endPause?.()
    },
    stop() {
      stopping.abort()
      endPause?.()
      return done
    },
  }
}
