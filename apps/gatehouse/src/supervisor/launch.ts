import cluster from 'node:cluster'
import { steadyClock } from '@gatehouse/kit'
import type { Handover } from './handover.ts'
import type { Reports } from './reports.ts'
import { WorkerProcess } from './worker-process.ts'

/** What {@link launchWorker} needs of the supervisor. */
export interface LaunchOptions {
  /** A port that was chosen for PORT=0 is that of all. */
  readonly port: number
  /** How many workers there are, whatever the file says by now: what it lacks for so many is a fault. */
  readonly processes: number
  /** The configuration file that there was at the start: without it a worker does not start either. */
  readonly file?: string | undefined
  readonly reports: Reports<WorkerProcess>
  readonly handover: Handover
}

/** Starts the process of a worker. */
export function launchWorker(number: number, options: LaunchOptions): WorkerProcess {
  const { port, processes, file, reports, handover } = options
  const process = cluster.fork({
    PORT: String(port),
    PROCESSES: String(processes),
    ...(file === undefined ? {} : { GATEHOUSE_CONFIG: file }),
  })
  // One that never began does not end either: node:cluster would list it for ever.
  if (process.process.pid === undefined) delete cluster.workers?.[process.id]
  handover.watch(process)
  const worker: WorkerProcess = new WorkerProcess({
    number,
    process,
    clock: steadyClock,
    answers: (topic) => reports.answer(topic),
    onLastMetrics: (metrics) => reports.record(worker, metrics),
  })
  return worker
}
