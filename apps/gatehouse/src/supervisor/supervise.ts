import cluster from 'node:cluster'
import {
  Counter,
  createMetrics,
  Gauge,
  type Log,
  type MetricSnapshot,
  type Registry,
  readSnapshot,
  Secret,
  systemClock,
} from '@gatehouse/kit'
import { type Config, readConfig } from '../config/config.ts'
import { declaresTour } from '../config/tour.ts'
import type { Readiness } from '../http/health.ts'
import { probePort } from '../http/listen.ts'
import { listenForMetrics } from '../http/metrics-listener.ts'
import { banner } from '../process/banner.ts'
import { stopOnSignal } from '../process/lifecycle.ts'
import type { Topic, WorkerAbout } from '../process/messages.ts'
import { rescueConnections } from './handover.ts'
import { Supervisor } from './supervisor.ts'
import { WorkerMetrics } from './worker-metrics.ts'
import { WorkerProcess } from './worker-process.ts'
import { combineReadiness } from './worker-readiness.ts'

const metricsTimeoutMs = 1_000
/** A worker waits two seconds for its engines. */
const readinessTimeoutMs = 3_000
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
  await probePort(settings.host, settings.port)
  const reports = new Reports(createMetrics({ processMetrics: true }))
  cluster.schedulingPolicy = cluster.SCHED_RR
  cluster.setupPrimary({ serialization: 'advanced' })
  const supervisor = new Supervisor({
    count: settings.processes,
    log,
    clock: systemClock,
    launch: (number) => launch(number, settings.port, reports),
    onEnded: (worker, { cause }) => reports.end(worker, cause),
    onSurrender: (line) => void giveUp(line, supervisor),
  })
  reports.supervisor = supervisor
  stopOnSignal(() => supervisor.stop(), log, { exitAfterMs, beforeExit: () => supervisor.killAll() })
  try {
    const { contentType } = reports.registry
    if (settings.metricsPort !== undefined)
      await listenForMetrics({ settings, log, contentType, text: () => reports.metrics() })
    const about = await supervisor.start()
    process.stdout.write(banner(bannerOptions(config, version, about)))
  } catch (error) {
    await supervisor.stop()
    throw error
  }
  process.on('SIGHUP', () => void reloadAndReplace(supervisor, log))
}

function launch(number: number, port: number, reports: Reports): WorkerProcess {
  // A port that was chosen for PORT=0 is that of all.
  const process = cluster.fork({ PORT: String(port) })
  rescueConnections(process)
  const worker: WorkerProcess = new WorkerProcess({
    number,
    process,
    clock: systemClock,
    answers: (topic) => reports.answer(topic),
    onLastMetrics: (metrics) => reports.record(worker, metrics),
  })
  return worker
}

/** The limits of the file count at once in all workers; everything else of it in those that take their places. */
async function reloadAndReplace(supervisor: Supervisor, log: Log): Promise<void> {
  try {
    await readConfig()
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

function bannerOptions({ settings, file }: Config, version: string, { seeded, ...about }: WorkerAbout) {
  const { baseUrl, authUrl, services, processes } = settings
  return {
    ...about,
    seeded: seeded.map(({ secret, ...each }) => ({ ...each, ...(secret ? { secret: new Secret(secret) } : {}) })),
    version,
    baseUrl,
    authUrl,
    processes,
    milliseconds: performance.now(),
    services: [...services],
    tour: declaresTour(file),
  }
}

/** What the workers report together: their metrics and their readiness. */
class Reports {
  readonly registry: Registry
  supervisor: Supervisor | undefined
  readonly #metrics = new WorkerMetrics<WorkerProcess | 'supervisor'>()
  readonly #up: Gauge<'worker'>
  readonly #ended: Counter<'worker' | 'cause'>

  constructor(registry: Registry) {
    this.registry = registry
    const registers = [registry]
    this.#up = new Gauge({
      name: 'gatehouse_worker_up',
      help: '1 when a worker process responded to this scrape; 0 names one that is missing',
      labelNames: ['worker'],
      registers,
    })
    this.#ended = new Counter({
      name: 'gatehouse_worker_ends_total',
      help: 'Worker processes that ended, by cause: stopped, crashed, blocked, refused or unavailable',
      labelNames: ['worker', 'cause'],
      registers,
    })
  }

  answer(topic: Topic): Promise<unknown> {
    return topic === 'metrics' ? this.metrics() : this.#readiness()
  }

  record(worker: WorkerProcess, metrics: unknown): void {
    this.#metrics.record(worker, worker.worker, metrics as MetricSnapshot[])
  }

  end(worker: WorkerProcess, cause: string): void {
    this.#metrics.end(worker)
    this.#ended.inc({ worker: worker.worker, cause })
  }

  /** The metrics of all, in the text format of Prometheus. */
  async metrics(): Promise<string> {
    const answers = (await this.supervisor?.ask('metrics', metricsTimeoutMs)) ?? new Map<WorkerProcess, unknown>()
    const responding = new Set<WorkerProcess | 'supervisor'>(['supervisor'])
    this.#up.reset()
    for (const number of this.supervisor?.missing ?? []) this.#up.set({ worker: String(number) }, 0)
    for (const [worker, metrics] of answers) {
      this.#up.set({ worker: worker.worker }, metrics ? 1 : 0)
      if (!metrics) continue
      responding.add(worker)
      this.record(worker, metrics)
    }
    this.#metrics.record('supervisor', 'supervisor', await readSnapshot(this.registry))
    return this.#metrics.format(responding)
  }

  async #readiness(): Promise<Readiness> {
    const answers = (await this.supervisor?.ask('readiness', readinessTimeoutMs)) ?? new Map<WorkerProcess, unknown>()
    const missing = (this.supervisor?.missing ?? []).map((worker) => ({ worker, readiness: undefined }))
    const reports = [...answers].map(([{ number: worker }, readiness]) => ({
      worker,
      readiness: readiness as Readiness | undefined,
    }))
    return combineReadiness([...reports, ...missing])
  }
}
