import type { Authenticate } from '@gatehouse/gateway'
import { type Http, type Log, Problem, type Registry } from '@gatehouse/kit'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Settings } from '../config/config.ts'
import { operation } from '../docs/operations.ts'
import { listenForMetrics } from '../http/metrics-listener.ts'
import type { Supervision } from '../process/supervision.ts'
import type { Dispose } from './parts.ts'

/** What reads the metrics at the public address needs. */
const metricsScope = 'read:metrics'

/** What {@link serveMetrics} is composed from. */
export interface MetricsParts {
  readonly http: Http
  readonly metrics: Registry
  readonly settings: Settings
  readonly log: Log
  readonly resources: Dispose[]
  readonly authenticate: Authenticate
  /** Where this process is one of several: they are served together. */
  readonly supervision: Supervision | undefined
}

const supervisorTimeoutMs = 3_000

/**
 * Serves the metrics, which tell of routes, tiers and traffic: on a listener of their own to whoever reaches it, where
 * METRICS_PORT names one; else at the public address to callers with the scope. Answers where, for the first.
 * @throws StartError when the port can't be had
 */
export async function serveMetrics({ http, authenticate, ...parts }: MetricsParts): Promise<string | undefined> {
  const { metrics, settings, log, resources, supervision } = parts
  const text = () => readAllMetrics(metrics, supervision)
  const answer = async (reply: FastifyReply) => reply.type(metrics.contentType).send(await text())
  const { metricsPort: port, metricsHost: host } = settings
  if (port === undefined) {
    http.get('/metrics', { schema: documented }, async (request, reply) => {
      await authenticate(request, metricsScope)
      return answer(reply)
    })
    return undefined
  }
  if (!supervision) resources.push(await listenForMetrics({ settings, log, text, contentType: metrics.contentType }))
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`
}

/** The metrics of this process, or of all workers where it is one of several, as text. */
export function readAllMetrics(metrics: Registry, supervision: Supervision | undefined): Promise<string> {
  return supervision ? metricsOfAll(supervision) : metrics.metrics()
}

/** What the workers report together. @throws Problem when the supervisor doesn't answer */
async function metricsOfAll(supervision: Supervision): Promise<string> {
  const text = await supervision.ask('metrics', supervisorTimeoutMs)
  if (typeof text === 'string') return text
  throw new Problem(503, 'The supervisor of the processes does not answer.')
}

/** Text is sent as it is. */
const documented = {
  tags: ['operations'],
  security: [{ bearer: [metricsScope] }],
  ...operation('metrics.get'),
  response: {
    200: { description: 'The metrics.', content: { 'text/plain': { schema: Type.String() } } },
  },
}
