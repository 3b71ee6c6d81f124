import { type Clock, Problem, parseStatRange, quantileSeries, type StatReader, sumSeries } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { hourlyMeasures, latencyBounds, type Measure } from '../model/measure.ts'
import type { StatsQuery } from './schema.ts'

/** What the endpoint of statistics needs. */
export interface StatsContext {
  readonly history: StatReader
  readonly clock: Clock
}

interface Selection {
  readonly measure: Measure
  readonly by: readonly string[]
}

/** What is read for a measure and what its sums are told apart by. */
const selections: Readonly<Record<string, Readonly<Record<string, Selection>>>> = {
  outcomes: {
    channel: { measure: 'outcomes', by: ['channel', 'outcome'] },
    event: { measure: 'outcomes_by_event', by: ['event', 'outcome'] },
  },
  attempts: {
    channel: { measure: 'attempts', by: ['channel', 'result'] },
    provider: { measure: 'attempts', by: ['provider', 'result'] },
  },
  states: {
    channel: { measure: 'states', by: ['channel', 'state'] },
    provider: { measure: 'states', by: ['provider', 'state'] },
    domain: { measure: 'states_by_domain', by: ['provider', 'domain', 'state'] },
  },
  texts: {
    channel: { measure: 'texts', by: ['channel', 'result'] },
    template: { measure: 'texts', by: ['template', 'result'] },
  },
  suppressions: {
    channel: { measure: 'suppressions', by: ['channel', 'reason'] },
    reason: { measure: 'suppressions', by: ['reason'] },
  },
  sms_failures: {
    provider: { measure: 'sms_failures', by: ['provider'] },
    code: { measure: 'sms_failures', by: ['provider', 'code'] },
  },
  dead_devices: {
    provider: { measure: 'dead_devices', by: ['provider'] },
  },
  latency: {
    channel: { measure: 'latency', by: ['channel'] },
    provider: { measure: 'latency', by: ['provider'] },
  },
}

const hourSeconds = 3_600

/** GET /v1/stats: sums over time, or quantiles. */
export function getStats({ history, clock }: StatsContext) {
  return async ({ query }: FastifyRequest<{ Querystring: Static<typeof StatsQuery> }>) => {
    const { measure: name, by: dimension = 'channel' } = query
    const selection = selections[name]?.[dimension]
    if (selection === undefined) throw wrongDimension(name)
    const { measure, by } = selection
    const coarse = hourlyMeasures.has(measure) && (query.step ?? hourSeconds) % hourSeconds !== 0
    if (coarse) throw fault('/step', `must be a multiple of ${hourSeconds} for ${name} by ${dimension}`)
    const range = parseStatRange(
      hourlyMeasures.has(measure) ? { ...query, step: query.step ?? hourSeconds } : query,
      clock.now(),
    )
    const rows = await history.read({ measure, ...range })
    return name === 'latency' ? quantileSeries(rows, range, { by, bounds: latencyBounds }) : sumSeries(rows, range, by)
  }
}

function wrongDimension(measure: string): Problem {
  const known = Object.keys(selections[measure] ?? {})
  return fault('/by', `must be ${known.join(' or ')} for ${measure}`)
}

function fault(pointer: string, detail: string): Problem {
  return new Problem(400, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}
