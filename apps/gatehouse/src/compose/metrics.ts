import type { Authenticate } from '@gatehouse/gateway'
import { createHttp, type Http, type Log, type Registry } from '@gatehouse/kit'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Settings } from '../config/config.ts'
import { operation } from '../docs/operations.ts'
import { listen } from '../http/listen.ts'
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
}

/**
 * Serves the metrics, which tell of routes, tiers and traffic: on a listener of their own to whoever reaches it, where
 * METRICS_PORT names one; else at the public address to callers with the scope. Answers where, for the first.
 * @throws StartError when the port can't be had
 */
export async function serveMetrics({ http, authenticate, ...parts }: MetricsParts): Promise<string | undefined> {
  const { metrics, settings, log, resources } = parts
  const answer = async (reply: FastifyReply) => reply.type(metrics.contentType).send(await metrics.metrics())
  const { metricsPort: port, metricsHost: host } = settings
  if (port === undefined) {
    http.get('/metrics', { schema: documented }, async (request, reply) => {
      await authenticate(request, metricsScope)
      return answer(reply)
    })
    return undefined
  }
  const own = createHttp({ log })
  own.get('/metrics', async (_request, reply) => answer(reply))
  await listen(own, host, port, 'METRICS_HOST, METRICS_PORT')
  resources.push(() => own.close())
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/metrics`
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
