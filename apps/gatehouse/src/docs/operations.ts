import { operationsOf } from '@gatehouse/kit'

/** What the API document says about the program's own operations. */
export const operation = operationsOf({
  'health.get': ['Check that the process is alive', 'Asks no engine.'],
  'readiness.get': ['Check that the engines answer', 'Names each engine; 503 when one that is needed does not answer.'],
  'metrics.get': ['Read metrics', 'In the Prometheus text format.'],
  'document.get': ['Read the API document', 'OpenAPI 3.1; the services in other processes are joined to it.'],
})
