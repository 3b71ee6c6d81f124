import { type Clock, type Http, type Log, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { NotifyMetrics } from '../metrics.ts'
import type { Provider } from '../providers/provider.ts'
import type { WebhookReceiver } from '../providers/webhook.ts'
import type { Reports } from '../reports.ts'

export interface WebhookRoutes {
  readonly providers: readonly Provider[]
  readonly reports: Reports
  /** Where the world reaches us: some providers sign the address they call. */
  readonly publicUrl: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
}

const mostBytes = 1024 * 1024
const mostReports = 10_000

/**
 * POST /v1/webhooks/{provider}: what providers report. It asks for no token: the provider's signature over the raw bytes
 * is checked instead, and before anything is read.
 */
export async function webhookEndpoint(http: Http, given: WebhookRoutes): Promise<void> {
  const { reports, publicUrl, clock, log, metrics } = given
  const receivers = new Map<string, WebhookReceiver>(
    given.providers.flatMap(({ name, webhook }) => (webhook ? [[name, webhook] as const] : [])),
  )
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  http.post(
    '/v1/webhooks/:provider',
    {
      bodyLimit: mostBytes,
      schema: {
        tags: ['webhooks'],
        summary: "Takes a provider's reports: delivered, opened, clicked, bounced, complained, unsubscribed",
        security: [],
        params: Type.Object({ provider: Type.String({ maxLength: 64 }) }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { provider } = request.params
      const receiver = receivers.get(provider)
      if (!receiver) throw new Problem(404, `No provider ${provider} reports here.`)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const url = `${publicUrl}${request.url}`
      const received = await receiver.receive({ headers: request.headers, body, url }, clock.now())
      const outcome = received.kind === 'reports' ? 'taken' : received.kind
      metrics.webhooks.inc({ provider, outcome })
      if (received.kind === 'refused') {
        log.debug({ provider, reason: received.reason }, 'a webhook was refused')
        throw new Problem(403, `This is not a webhook of ${provider}: ${received.reason}.`)
      }
      if (received.kind === 'malformed') throw new Problem(400, `The webhook can't be read: ${received.reason}.`)
      if (received.reports.length > mostReports)
        throw new Problem(413, `At most ${mostReports} reports may come at once.`)
      await reports.take(provider, received.reports)
      return reply.code(204).send(null)
    },
  )
}
