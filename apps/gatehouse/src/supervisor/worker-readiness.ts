import type { Readiness } from '../http/health.ts'

/** What a worker reported; undefined where it did not respond. */
export interface WorkerReport {
  readonly worker: number
  readonly readiness: Readiness | undefined
}

/**
 * One readiness of all workers. While one of them is ready the port is of use, so the whole is degraded; it is unavailable
 * when none is. An engine that only some reach says so, and `workers` names those that do not respond.
 */
export function combineReadiness(reports: readonly WorkerReport[]): Readiness {
  const answers = reports.flatMap(({ readiness }) => readiness ?? [])
  const missing = reports.filter(({ readiness }) => !readiness).map(({ worker }) => worker)
  const usable = answers.filter(({ status }) => status !== 'unavailable')
  const isReady = missing.length === 0 && answers.every(({ status }) => status === 'ready')
  const names = new Set(answers.flatMap(({ engines }) => Object.keys(engines)))
  return {
    status: usable.length === 0 ? 'unavailable' : isReady ? 'ready' : 'degraded',
    engines: {
      ...Object.fromEntries([...names].map((name) => [name, combineEngine(name, answers)])),
      workers: missing.length === 0 ? 'ok' : `${missing.join(', ')} of ${reports.length} do not respond`,
    },
  }
}

function combineEngine(name: string, answers: readonly Readiness[]): string {
  const states = answers.flatMap(({ engines }) => engines[name] ?? [])
  const ok = states.filter((state) => state === 'ok').length
  if (ok === states.length) return 'ok'
  return ok === 0 ? 'does not answer' : `answers in ${ok} of ${states.length} workers`
}
