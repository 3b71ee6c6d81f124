import { combineSnapshots, formatSnapshot, type MetricSnapshot, type MetricValue } from '@gatehouse/kit'

/** Metrics of Node and of the operating system's process, which have no meaning as a sum. */
const processMetric = /^(process|nodejs)_/
/** What only ever grows, and so must not lose the part of a worker that ended. */
const cumulative = new Set(['counter', 'histogram', 'summary'])

/**
 * One set of metrics of all workers. Counters and histograms are summed, gauges by their own aggregator; metrics of the
 * process have a label `worker`. The totals of workers that ended are kept, and no total is ever reported lower than it
 * was: Prometheus would read that as a reset.
 */
export class WorkerMetrics<Source> {
  readonly #last = new Map<Source, MetricSnapshot[]>()
  #totals: MetricSnapshot[] = []
  readonly #reported = new Map<string, number>()

  /** Records what a worker reported; `label` names it in the metrics of its process. */
  record(source: Source, label: string, snapshot: readonly MetricSnapshot[]): void {
    this.#last.set(
      source,
      snapshot.map((metric) => labelled(metric, label)),
    )
  }

  /** Moves the last totals of a worker that ended to those that are kept. */
  end(source: Source): void {
    const totals = this.#last.get(source)?.filter(({ type }) => cumulative.has(type)) ?? []
    this.#last.delete(source)
    this.#totals = combineSnapshots([this.#totals, totals])
  }

  /** Formats the metrics of all: of those not in `responding` only what grows, as it was when they last responded. */
  format(responding: ReadonlySet<Source>): Promise<string> {
    const current = [...this.#last].map(([source, metrics]) =>
      responding.has(source) ? metrics : metrics.filter(({ type }) => cumulative.has(type)),
    )
    const combined = combineSnapshots([this.#totals, ...current])
    return formatSnapshot(combined.map((metric) => this.#neverLower(metric)))
  }

  /** Sums of fractions differ in their last digits with the order of the workers. */
  #neverLower(metric: MetricSnapshot): MetricSnapshot {
    if (!cumulative.has(metric.type)) return metric
    return { ...metric, values: metric.values.map((each) => ({ ...each, value: this.#raise(metric.name, each) })) }
  }

  #raise(name: string, { metricName = name, labels, value }: MetricValue): number {
    const key = `${metricName} ${JSON.stringify(Object.entries(labels).sort())}`
    const raised = Math.max(this.#reported.get(key) ?? 0, value)
    this.#reported.set(key, raised)
    return raised
  }
}

function labelled(metric: MetricSnapshot, worker: string): MetricSnapshot {
  if (!processMetric.test(metric.name)) return metric
  const values = metric.values.map((each) => ({ ...each, labels: { ...each.labels, worker } }))
  return { ...metric, aggregator: 'sum', values }
}
