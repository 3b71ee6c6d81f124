import { type Clock, type Http, type Log, Problem, problemAnswer } from '@gatehouse/kit'
import type { Provider, ReceivedWebhook, WebhookReport } from '@gatehouse/providers'
import { Type } from 'typebox'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { Reports } from '../context/reports.ts'
import type { Channel } from '../model/channel.ts'
import { channelOf } from '../model/id.ts'
import { operation } from '../request/operations.ts'

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
const maxReports = 10_000

/**
 * POST /v1/webhooks/{provider}: what providers report. It asks for no token: the provider's signature over the raw bytes
 * is checked instead, and before anything is read. What its header fields give away is refused before its body comes.
 */
export async function webhookEndpoint(http: Http, options: WebhookRoutes): Promise<void> {
  const { reports, publicUrl, clock, log, metrics } = options
  const receivers = new Map(
    options.providers.flatMap(({ name, channel, webhook }) => (webhook ? [[name, { channel, webhook }] as const] : [])),
  )
  const receiverOf = (provider: string) => {
    const receiver = receivers.get(provider)
    if (!receiver) throw new Problem(404, `No provider ${provider} reports here.`)
    return receiver
  }
  const refused = (provider: string, reason: string) => {
    metrics.webhooks.inc({ provider, outcome: 'refused' })
    log.debug({ provider, reason }, 'a webhook was refused')
    return new Problem(403, `This is not a webhook of ${provider}: ${reason}.`)
  }
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  http.post(
    '/v1/webhooks/:provider',
    {
      bodyLimit: mostBytes,
      onRequest: async ({ params, headers }) => {
        const { provider } = params as { provider: string }
        const { webhook } = receiverOf(provider)
        refuseLonger(provider, Number(headers['content-length'] ?? 0), webhook.mostBytes)
        const reason = webhook.refusal?.(headers, clock.now())
        if (reason !== undefined) throw refused(provider, reason)
      },
      schema: {
        tags: ['webhooks'],
        ...operation('webhooks.receive'),
        security: [],
        params: Type.Object({ provider: Type.String({ maxLength: 64, description: 'The name of the provider.' }) }),
        body: { content: { '*/*': { schema: Type.Unsafe({ description: 'As the provider sends it.' }) } } },
        response: {
          204: Type.Null({ description: 'The reports are stored.' }),
          403: problemAnswer('The signature is missing or invalid.'),
          429: problemAnswer('The signature cannot be checked at this moment, or a limit is exceeded.'),
        },
      },
    },
    async (request, reply) => {
      const { provider } = request.params
      const { channel, webhook } = receiverOf(provider)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      refuseLonger(provider, body.length, webhook.mostBytes)
      const url = `${publicUrl}${request.url}`
      const received = await webhook.receive({ headers: request.headers, body, url }, clock.now())
      if (received.kind === 'refused') throw refused(provider, received.reason)
      const unread = received.kind === 'reports' ? received.unread : undefined
      if (unread) log.warn({ provider, reason: unread, bytes: body.length }, 'a report could not be read and is left')
      const readOutcome = unread ? 'unread' : 'accepted'
      metrics.webhooks.inc({ provider, outcome: received.kind === 'reports' ? readOutcome : received.kind })
      const parsed = reportsIn(received)
      await reports.record(
        provider,
        parsed.map((report) => ofChannel(report, channel)),
      )
      return reply.code(204).send(null)
    },
  )
}

function refuseLonger(provider: string, bytes: number, most: number = mostBytes): void {
  if (bytes > most) throw new Problem(413, `A webhook of ${provider} has ${most} bytes at most.`)
}

function reportsIn(received: Exclude<ReceivedWebhook, { kind: 'refused' }>): readonly WebhookReport[] {
  if (received.kind === 'malformed') throw new Problem(400, `The webhook can't be read: ${received.reason}.`)
  if (received.kind === 'unchecked')
    throw new Problem(received.busy ? 429 : 503, `The webhook can't be checked now: ${received.reason}.`, {
      headers: { 'retry-after': '10' },
    })
  if (received.reports.length > maxReports) throw new Problem(413, `At most ${maxReports} reports may come at once.`)
  return received.reports
}

/** Who carries one channel knows nothing of the others: such a report is about no delivery of its own. */
function ofChannel(report: WebhookReport, channel: Channel): WebhookReport {
  const { deliveryId, ...rest } = report
  return deliveryId !== undefined && channelOf(deliveryId) === channel ? report : rest
}
