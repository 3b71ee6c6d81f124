import { Counter, Gauge, type MetricSnapshot, type Registry, readSnapshot } from '@gatehouse/kit'
import type { Readiness } from '../http/health.ts'
import type { Topic } from '../process/messages.ts'
import { shareRead } from '../process/shared-read.ts'
import { WorkerMetrics } from './worker-metrics.ts'
import { combineReadiness } from './worker-readiness.ts'

const metricsTimeoutMs = 1_000
/** A worker waits two seconds for its engines. */
const readinessTimeoutMs = 3_000

/** A worker, as far as {@link Reports} is concerned. */
export interface Reporter {
  readonly number: number
  /** Its number as a label of metrics. */
  readonly worker: string
  /** Resolves with its answer, or with undefined where none comes in time. */
  ask(topic: Topic, timeoutMs: number): Promise<unknown>
}

/** The workers that listen, and the numbers of those that should and do not. */
export interface Reporters<Worker extends Reporter> {
  readonly listening: readonly Worker[]
  readonly missing: readonly number[]
}

/**
 * What the workers report together: their metrics and their readiness. The workers are asked once at a time, however many
 * wait for the answer: anybody may ask whether the program is ready, and each question asks every engine of every worker.
 */
export class Reports<Worker extends Reporter> {
  readonly registry: Registry
  /** Resolves with the metrics of all, in the text format of Prometheus. */
  readonly metrics = shareRead(() => this.#readMetrics(), { keepMs: 0 })
  /** Resolves with whether all are ready, and what keeps those that are not. */
  readonly readiness = shareRead(() => this.#readReadiness(), { keepMs: 0 })
  readonly #workers: () => Reporters<Worker>
  readonly #metrics = new WorkerMetrics<Worker | 'supervisor'>()
  readonly #ended = new WeakSet<Worker>()
  readonly #up: Gauge<'worker'>
  readonly #ends: Counter<'worker' | 'cause'>

  constructor(registry: Registry, workers: () => Reporters<Worker>) {
    this.registry = registry
    this.#workers = workers
    const registers = [registry]
    this.#up = new Gauge({
      name: 'gatehouse_worker_up',
      help: '1 when a worker process responded to this scrape; 0 names one that is missing',
      labelNames: ['worker'],
      registers,
    })
    this.#ends = new Counter({
      name: 'gatehouse_worker_ends_total',
      help: 'Worker processes that ended, by cause: stopped, crashed, blocked, refused or unavailable',
      labelNames: ['worker', 'cause'],
      registers,
    })
  }

  answer(topic: Topic): Promise<unknown> {
    return topic === 'metrics' ? this.metrics() : this.readiness()
  }

  record(worker: Worker, metrics: unknown): void {
    // What arrives after its end is in the totals already, or would never leave the current values.
    if (!this.#ended.has(worker)) this.#metrics.record(worker, worker.worker, metrics as MetricSnapshot[])
  }

  end(worker: Worker, cause: string): void {
    this.#ended.add(worker)
    this.#metrics.end(worker)
    this.#ends.inc({ worker: worker.worker, cause })
  }

  async #readMetrics(): Promise<string> {
    const { listening, missing } = this.#workers()
    const answers = await Promise.all(listening.map((worker) => this.#recordMetrics(worker)))
    this.#up.reset()
    for (const number of missing) this.#up.set({ worker: String(number) }, 0)
    for (const { worker, responds } of answers) this.#up.set({ worker: worker.worker }, responds ? 1 : 0)
    this.#metrics.record('supervisor', 'supervisor', await readSnapshot(this.registry))
    const responding = answers.flatMap(({ worker, responds }) => (responds ? worker : []))
    return this.#metrics.format(new Set<Worker | 'supervisor'>(['supervisor', ...responding]))
  }

  async #readReadiness(): Promise<Readiness> {
    const { listening, missing } = this.#workers()
    const reports = await Promise.all(
      listening.map(async (worker) => ({
        worker: worker.number,
        readiness: (await worker.ask('readiness', readinessTimeoutMs)) as Readiness | undefined,
      })),
    )
    return combineReadiness([...reports, ...missing.map((worker) => ({ worker, readiness: undefined }))])
  }

  /** Records what a worker answers as soon as it does: it may end while others are waited for. */
  async #recordMetrics(worker: Worker): Promise<{ worker: Worker; responds: boolean }> {
    const metrics = await worker.ask('metrics', metricsTimeoutMs)
    if (metrics) this.record(worker, metrics)
    return { worker, responds: Boolean(metrics) }
  }
}
