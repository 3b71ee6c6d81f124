import type { Log } from '@gatehouse/kit'
import { onHangup } from './hangup.ts'

/** Two copies of one Ctrl-C (the terminal's and npm's) arrive this close together and count as one. */
const sameInterruptMs = 100
/** How long work in progress may take to finish. */
const maxStopMs = 9_000

/** How {@link stopOnSignal} stops. */
export interface StopOptions {
  /** Exits after this time whatever is left. Default 9 s. */
  readonly exitAfterMs?: number
  /** Runs before a second signal ends the process. */
  readonly beforeExit?: () => void
}

/**
 * Stops on SIGTERM or SIGINT: finishes what is held, then exits 0, within ten seconds at the most. A second signal ends
 * the process at once with 128 + the signal's number.
 */
export function stopOnSignal(stop: () => Promise<void>, log: Log, options: StopOptions = {}): void {
  let stoppingSince: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (stoppingSince === undefined) {
      stoppingSince = now
      log.info({ signal }, 'stopping: finishing what is held; a second signal ends at once')
      void finish(stop, log, options)
    } else if (signal !== 'SIGINT' || now - stoppingSince > sameInterruptMs) {
      options.beforeExit?.()
      process.exit(signal === 'SIGINT' ? 130 : 143)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** Takes the limits of the file anew on SIGHUP; a file with a fault changes nothing, and the log says what is wrong. */
export function reloadOnSignal(reload: () => Promise<void>, log: Log): void {
  onHangup(() => reloadLogged(reload, log))
}

/** Takes the limits of the file again, and logs what became of it. */
export function reloadLogged(reload: () => Promise<void>, log: Log): void {
  reload().then(
    () => log.info('tiers and policies are those of the file now'),
    (error: unknown) => log.error({ err: error }, 'the file is not valid: tiers and policies stay as they were'),
  )
}

/** Stops and exits: 0, or 1 when stopping fails. */
export async function finish(stop: () => Promise<void>, log: Log, options: StopOptions = {}): Promise<void> {
  const deadline = setTimeout(() => {
    log.warn('what is still held goes back when its lease ends')
    process.exit(0)
  }, options.exitAfterMs ?? maxStopMs)
  try {
    await stop()
    process.exitCode = 0
  } catch (error) {
    log.error({ err: error }, 'stopping failed')
    process.exitCode = 1
  }
  clearTimeout(deadline)
  process.exit()
}
