import { type Http, withinTime } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import { operation } from '../docs/operations.ts'

/** An engine this process stands on: how to ask whether it answers, and whether the process is of use without it. */
export interface Engine {
  readonly name: string
  readonly needed: boolean
  /** Throws when the engine does not answer. */
  ping(): Promise<unknown>
}

const pingTimeoutMs = 2_000

/** What `GET /readyz` answers. */
export type Readiness = Static<typeof Readiness>

const Readiness = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('degraded'), Type.Literal('unavailable')]),
  engines: Type.Record(Type.String(), Type.String()),
})

/** The state of the engines of this process. */
export async function readReadiness(engines: readonly Engine[]): Promise<Readiness> {
  const answers = await Promise.all(engines.map(async (engine) => ({ engine, answer: await askEngine(engine) })))
  const missing = answers.filter(({ answer }) => answer !== 'ok')
  const unavailable = missing.some(({ engine }) => engine.needed)
  return {
    status: unavailable ? 'unavailable' : missing.length > 0 ? 'degraded' : 'ready',
    engines: Object.fromEntries(answers.map(({ engine, answer }) => [engine.name, answer])),
  }
}

/** `GET /healthz` and `/readyz`, which answers what `readiness` resolves with. */
export function registerHealth(http: Http, readiness: () => Promise<Readiness>): void {
  const tags = ['operations']
  http.get(
    '/healthz',
    {
      schema: {
        tags,
        security: [],
        ...operation('health.get'),
        response: { 200: Type.Object({ status: Type.Literal('ok') }) },
      },
    },
    async () => ({ status: 'ok' as const }),
  )
  http.get(
    '/readyz',
    {
      schema: {
        tags,
        security: [],
        ...operation('readiness.get'),
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async (_request, reply) => {
      const answer = await readiness()
      return reply.code(answer.status === 'unavailable' ? 503 : 200).send(answer)
    },
  )
}

async function askEngine(engine: Engine): Promise<string> {
  try {
    await withinTime(pingTimeoutMs, `the answer of ${engine.name}`, engine.ping())
    return 'ok'
  } catch {
    return 'does not answer'
  }
}
