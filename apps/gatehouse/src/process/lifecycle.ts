import { type Log, StartError } from '@gatehouse/kit'
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

/** Takes the limits of the file anew, and resolves with whose apply then. */
type Reload = () => Promise<'file' | 'stored'>

const inForce = {
  file: 'tiers and policies are those of the file now',
  stored: 'tiers and policies are those that identity stores: no file of this process changes them',
} as const

/** Takes the limits of the file anew on SIGHUP; a file with a fault changes nothing, and the log says what is wrong. */
export function reloadOnSignal(reload: Reload, log: Log): void {
  onHangup(() => void reloadLogged(reload, log))
}

/** Takes the limits of the file again, and logs what became of it. Never rejects. */
export async function reloadLogged(reload: Reload, log: Log): Promise<void> {
  try {
    log.info(inForce[await reload()])
  } catch (error) {
    const isFault = error instanceof RangeError || error instanceof StartError
    const why = isFault ? 'the file is not valid' : 'the file could not be applied, SIGHUP tries it again'
    log.error({ err: error }, `${why}: tiers and policies stay as they were`)
  }
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
