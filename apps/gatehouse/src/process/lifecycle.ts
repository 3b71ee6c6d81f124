import type { Log } from '@gatehouse/kit'

/** Two copies of one Ctrl-C (the terminal's and npm's) arrive this close together and count as one. */
const sameInterruptMs = 100
const maxStopMs = 9_000

/**
 * Stops on SIGTERM or SIGINT: finishes what is held, then exits 0, within ten seconds at the most. A second signal ends
 * the process at once with 128 + the signal's number.
 */
export function stopOnSignal(stop: () => Promise<void>, log: Log): void {
  let stoppingSince: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (stoppingSince === undefined) {
      stoppingSince = now
      log.info({ signal }, 'stopping: finishing what is held; a second signal ends at once')
      void finish(stop, log)
    } else if (signal !== 'SIGINT' || now - stoppingSince > sameInterruptMs) {
      process.exit(signal === 'SIGINT' ? 130 : 143)
    }
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}

/** Takes the limits of the file anew on SIGHUP; a file with a fault changes nothing, and the log says what is wrong. */
export function reloadOnSignal(reload: () => Promise<void>, log: Log): void {
  process.on('SIGHUP', () => {
    reload().then(
      () => log.info('tiers and policies are those of the file now'),
      (error: unknown) => log.error({ err: error }, 'the file is not valid: tiers and policies stay as they were'),
    )
  })
}

async function finish(stop: () => Promise<void>, log: Log): Promise<void> {
  const deadline = setTimeout(() => {
    log.warn('what is still held goes back when its lease ends')
    process.exit(0)
  }, maxStopMs)
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
