import { type Clock, type Http, type Log, Problem } from '@gatehouse/kit'
import type { Provider, ReadResult, Report } from '@gatehouse/providers'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { NotifyMetrics } from '../context/metrics.ts'
import type { ProviderActivity } from '../context/provider-activity.ts'
import type { Reports } from '../context/reports.ts'
import type { Channel } from '../model/channel.ts'
import { channelOf } from '../model/id.ts'

/** What the endpoint of webhooks needs. */
export interface WebhookContext {
  readonly providers: readonly Provider[]
  readonly reports: Reports
  /** The public address of this service: some providers sign the URL they call. */
  readonly publicUrl: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: NotifyMetrics
  readonly activity: Pick<ProviderActivity, 'recordWebhook' | 'recordUnverified'>
}

/** The largest webhook of any provider, in bytes. */
export const maxWebhookBytes = 1024 * 1024
const maxReports = 10_000

type WebhookRequest = FastifyRequest<{ Params: { provider: string } }>

/** Signatures cover the raw bytes: nothing parses a body before its signature is checked. */
export function addRawParser(http: Http): void {
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/**
 * The two steps of POST /v1/webhooks/{provider}: what providers report. It requires no token: the provider's signature
 * is checked instead. `checkHeaders` refuses, before the body is read, what the header fields already give away.
 */
export function createWebhookHandlers(context: WebhookContext) {
  const { activity, clock, log, metrics, publicUrl, reports } = context
  const receiverOf = createReceiverLookup(context.providers)
  const count = (labels: { readonly provider: string; readonly outcome: string }) => {
    metrics.webhooks.inc(labels)
    metrics.keep('webhooks', labels)
  }
  const rejection = (provider: string, reason: string) => {
    activity.recordUnverified(provider, reason)
    count({ provider, outcome: 'refused' })
    log.debug({ provider, reason }, 'a webhook was rejected')
    return new Problem(403, `This is not a webhook of ${provider}: ${reason}.`)
  }
  return {
    async checkHeaders({ params, headers }: FastifyRequest): Promise<void> {
      const { provider } = params as { provider: string }
      const { webhook } = receiverOf(provider)
      refuseLonger(provider, Number(headers['content-length'] ?? 0), webhook.maxBytes)
      const reason = webhook.checkHeaders?.(headers, clock.now())
      if (reason !== undefined) throw rejection(provider, reason)
    },
    async receive(request: WebhookRequest, reply: FastifyReply) {
      const { provider } = request.params
      const { channel, webhook } = receiverOf(provider)
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      refuseLonger(provider, body.length, webhook.maxBytes)
      const url = `${publicUrl}${request.url}`
      const received = await webhook.read({ headers: request.headers, body, url }, clock.now())
      if (received.kind === 'rejected') throw rejection(provider, received.reason)
      const unread = received.kind === 'reports' ? received.unreadableReason : undefined
      if (unread)
        log.warn({ provider, reason: unread, bytes: body.length }, 'a report could not be read and is ignored')
      const outcome = received.kind !== 'reports' ? received.kind : unread ? 'unread' : 'accepted'
      if (received.kind === 'unchecked') activity.recordUnverified(provider, received.reason)
      else activity.recordWebhook(provider, refusalOf(received))
      count({ provider, outcome })
      await reports.record(
        provider,
        reportsIn(received).map((report) => withinChannel(report, channel)),
      )
      return reply.code(204).send(null)
    },
  }
}

function createReceiverLookup(providers: readonly Provider[]) {
  const receivers = new Map(
    providers.flatMap(({ name, channel, reports: webhook }) =>
      webhook ? [[name, { channel, webhook }] as const] : [],
    ),
  )
  return (provider: string) => {
    const receiver = receivers.get(provider)
    if (!receiver) throw new Problem(404, `No provider ${provider} reports here.`)
    return receiver
  }
}

function refuseLonger(provider: string, bytes: number, maxBytes: number = maxWebhookBytes): void {
  if (bytes > maxBytes) throw new Problem(413, `A webhook of ${provider} has ${maxBytes} bytes at most.`)
}

/** Why nothing was taken of a webhook that its provider signed. */
function refusalOf(received: Exclude<ReadResult, { kind: 'rejected' | 'unchecked' }>): string | undefined {
  return received.kind === 'reports' ? received.unreadableReason : received.reason
}

function reportsIn(received: Exclude<ReadResult, { kind: 'rejected' }>): readonly Report[] {
  if (received.kind === 'malformed') throw new Problem(400, `The webhook can't be read: ${received.reason}.`)
  if (received.kind === 'unchecked')
    throw new Problem(received.busy ? 429 : 503, `The webhook can't be checked now: ${received.reason}.`, {
      headers: { 'retry-after': '10' },
    })
  if (received.reports.length > maxReports) throw new Problem(413, `At most ${maxReports} reports may come at once.`)
  return received.reports
}

/** A provider of one channel reports on no other: such a report is about no delivery of its own. */
function withinChannel(report: Report, channel: Channel): Report {
  const { deliveryId, ...rest } = report
  return deliveryId !== undefined && channelOf(deliveryId) === channel ? report : rest
}
