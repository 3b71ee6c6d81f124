import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export { Counter, Gauge, Histogram, Registry }

/** A registry of its own (nothing is global), with the process's default metrics when `processMetrics` is set. */
export function createMetrics(options: { processMetrics?: boolean } = {}): Registry {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  return registry
}
