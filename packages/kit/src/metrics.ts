import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export { Counter, Gauge, Histogram, Registry }

/** Creates a registry (none is global), with the default metrics of the process when `processMetrics` is set. */
export function createMetrics(options: { processMetrics?: boolean } = {}): Registry {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  return registry
}
