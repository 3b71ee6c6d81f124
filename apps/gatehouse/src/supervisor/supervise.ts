import cluster from 'node:cluster'
import { createMetrics, type Log, Secret, steadyClock } from '@gatehouse/kit'
import { type Config, readConfigAgain } from '../config/config.ts'
import { declaresTour } from '../config/tour.ts'
import { probePort } from '../http/listen.ts'
import { listenForMetrics } from '../http/metrics-listener.ts'
import { banner, printSeeded, type Seeded } from '../process/banner.ts'
import { onHangup } from '../process/hangup.ts'
import { stopOnSignal } from '../process/lifecycle.ts'
import type { WorkerAbout } from '../process/messages.ts'
import { Handover } from './handover.ts'
import { launchWorker } from './launch.ts'
import { Reports } from './reports.ts'
import { Supervisor } from './supervisor.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Workers are stopped or killed before this. */
const exitAfterMs = 9_800

/** What {@link supervise} starts. */
export interface SuperviseOptions {
  readonly config: Config
  readonly version: string
  readonly log: Log
}

/**
 * Starts the workers, prints where everything is, and keeps them running until a signal stops them all. The process exits
 * with 1 when its workers crash too often.
 * @throws StartError when the first start of a worker fails
 */
export async function supervise({ config, version, log }: SuperviseOptions): Promise<void> {
  const { settings } = config
  const { port, processes } = settings
  await probePort(settings.host, port)
  const reports: Reports<WorkerProcess> = new Reports(createMetrics({ processMetrics: true }), () => supervisor)
  const handover = new Handover()
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ serialization: 'advanced' })
  const supervisor: Supervisor = new Supervisor({
    count: processes,
    log,
    clock: steadyClock,
    launch: (number) => launchWorker(number, { port, processes, file: config.path, reports, handover }),
    onEnded: (worker, { cause }) => reports.end(worker, cause),
    onSurrender: (line) => void giveUp(line, supervisor),
  })
  stopOnSignal(() => supervisor.stop(), log, { exitAfterMs, beforeExit: () => supervisor.killAll() })
  try {
    const { contentType } = reports.registry
    if (settings.metricsPort !== undefined)
      await listenForMetrics({ settings, log, contentType, text: () => reports.metrics() })
    const about = await supervisor.start()
    if (!about) return printSeeded(seededOf(supervisor.about))
    process.stdout.write(banner(bannerOptions(config, version, about)))
  } catch (error) {
    printSeeded(seededOf(supervisor.about))
    await supervisor.stop()
    throw error
  }
  onHangup(() => void reloadAndReplace(supervisor, config, log))
}

/**
 * The limits of the file count at once in all workers; everything else of it in those that take their places, but for
 * their number.
 */
async function reloadAndReplace(supervisor: Supervisor, config: Config, log: Log): Promise<void> {
  try {
    await readConfigAgain(config, { ...process.env, PROCESSES: String(config.settings.processes) })
  } catch (error) {
    log.error({ err: error }, 'the file is not valid: tiers and policies stay as they were, no worker is replaced')
    return
  }
  supervisor.reload()
  await supervisor.replace()
}

async function giveUp(line: string, supervisor: Supervisor): Promise<void> {
  console.error(`gatehouse: ${line}`)
  await supervisor.stop()
  process.exit(1)
}

function seededOf(about: WorkerAbout | undefined): Seeded[] {
  return (about?.seeded ?? []).map(({ secret, ...each }) => {
    return { ...each, ...(secret ? { secret: new Secret(secret) } : {}) }
  })
}

function bannerOptions({ settings, file }: Config, version: string, about: WorkerAbout) {
  const { baseUrl, authUrl, host, port, services, processes } = settings
  return {
    ...about,
    seeded: seededOf(about),
    version,
    baseUrl,
    authUrl,
    host,
    port,
    processes,
    milliseconds: performance.now(),
    services: [...services],
    tour: declaresTour(file),
  }
}
