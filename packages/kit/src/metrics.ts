import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export { Counter, Gauge, Histogram, Registry }

/** Creates a registry (none is global), with the default metrics of the process when `processMetrics` is set. */
export function createMetrics(options: { processMetrics?: boolean } = {}): Registry {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  return registry
}

/** A metric with its values, as it travels between processes. */
export interface MetricSnapshot {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How the values of several processes make one: sum, max, min, first, average or omit. */
  readonly aggregator: string
  readonly values: readonly MetricValue[]
}

/** A value of a metric. */
export interface MetricValue {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Of a histogram or summary, which has several. */
  readonly metricName?: string
}

/** Reads all metrics of a registry. */
export async function readSnapshot(registry: Registry): Promise<MetricSnapshot[]> {
  return (await registry.getMetricsAsJSON()) as unknown as MetricSnapshot[]
}

/** Combines the metrics of several processes: values of the same labels by the aggregator of their metric. */
export function combineSnapshots(snapshots: ReadonlyArray<readonly MetricSnapshot[]>): MetricSnapshot[] {
  const combined = AggregatorRegistry.aggregate(snapshots as unknown as object[])
  return combined.getMetricsAsArray() as unknown as MetricSnapshot[]
}

/** Formats metrics for Prometheus (text 0.0.4). */
export function formatSnapshot(snapshot: readonly MetricSnapshot[]): Promise<string> {
  const registry = new Registry()
  for (const metric of snapshot) {
    const readable = { ...metric, get: () => metric }
    registry.registerMetric(readable as unknown as Gauge)
  }
  return registry.metrics()
}
