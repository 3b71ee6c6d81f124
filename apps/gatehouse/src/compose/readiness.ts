import type { Readiness } from '../http/health.ts'
import type { Supervision } from '../process/supervision.ts'

const supervisorTimeoutMs = 4_000

/**
 * Answers the supervisor's questions about this process, and resolves with the readiness of all processes; with that of
 * this one alone where the supervisor does not answer.
 */
export function supervisedReadiness(
  supervision: Supervision,
  readiness: () => Promise<Readiness>,
): () => Promise<Readiness> {
  supervision.answer('readiness', readiness)
  return async () => {
    const all = (await supervision.ask('readiness', supervisorTimeoutMs)) as Readiness | undefined
    if (all) return all
    const { status, engines } = await readiness()
    const degraded = status === 'ready' ? 'degraded' : status
    return { status: degraded, engines: { ...engines, workers: 'the supervisor does not answer' } }
  }
}
