import type { Log } from './log.ts'

export interface WorkerOptions {
  readonly name: string
  readonly log: Log
  /** One pass; true when more work is likely waiting. What it holds when it throws must be safe to find again. */
  readonly pass: (signal: AbortSignal) => Promise<boolean>
  /** The pause after a pass that found nothing, in milliseconds. */
  readonly idleMs: number
}

/** A loop that does passes until it is stopped. */
export interface Worker {
  readonly name: string
  /** Ends the pause: there is work. A hint, never a promise; the pause ends by itself too. */
  resume(): void
  /** Starts no further pass and resolves when the one under way is done. */
  stop(): Promise<void>
}

const maxErrorPauseMs = 30_000

/** Starts a worker. A pass that throws is logged and tried again, after a pause that doubles up to 30 s. */
export function startWorker(options: WorkerOptions): Worker {
  const stopping = new AbortController()
  let isResumed = false
  let endPause: (() => void) | undefined
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(done, milliseconds)
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
        if (!more) await pause(options.idleMs)
      } catch (error) {
        failures++
        options.log.error({ err: error, worker: options.name }, 'a pass failed and will be tried again')
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
