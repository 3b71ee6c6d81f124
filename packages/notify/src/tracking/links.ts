import { type Http, htmlAnswer, redirectAnswer } from '@gatehouse/kit'
import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { linkFault } from '../link-fault.ts'
import type { Links } from '../links.ts'
import type { NotifyMetrics } from '../metrics.ts'
import { operation } from '../operations.ts'
import type { Reports } from '../reports.ts'
import { machineOf } from './machine.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const Token = Type.Object({ token: Type.String({ maxLength: 1_024, description: 'The signed part of the link.' }) })
const Image = { description: 'An image of one pixel.', content: { 'image/gif': { schema: Type.String() } } }

export interface TrackingRoutes {
  readonly links: Links
  readonly pages: PageParts
  readonly reports: Reports
  readonly metrics: NotifyMetrics
  readonly clock: { now(): number }
}

/** /t/o/{token} and /t/c/{token}: a mail was opened, a link of it followed. */
export function trackingEndpoints(http: Http, { links, pages, reports, metrics, clock }: TrackingRoutes): void {
  const about = { tags: ['tracking'], security: [], params: Token }
  const open = {
    ...about,
    ...operation('opens.record'),
    response: { 200: Image } as object,
  }
  const click = {
    ...about,
    ...operation('clicks.record'),
    response: {
      302: redirectAnswer('The link of the mail.'),
      404: htmlAnswer('A page that says that this link does not exist.'),
    } as object,
  }
  const tell = (request: FastifyRequest, deliveryId: string | undefined, report: 'opened' | 'clicked') => {
    const machine = machineOf(request)
    const by = machine === undefined ? 'reader' : 'machine'
    metrics.tracked.inc({ report, by })
    if (deliveryId === undefined) return
    const about = { deliveryId, report, at: clock.now() }
    // Nobody waits for it; those that come together are stored together. A machine's does not stand in for a reader's.
    reports
      .take('tracking', [
        machine === undefined
          ? { ...about, eventId: `${report}:${deliveryId}` }
          : { ...about, eventId: `${by}:${report}:${deliveryId}`, machine: true, reason: machine },
      ])
      .catch((error) => request.log.warn({ err: error }, 'an open or a click could not be stored'))
  }

  http.get('/t/o/:token', { schema: open }, (request, reply) => {
    const about = links.read('open', request.params.token)
    if (about) tell(request, about[0], 'opened')
    return reply
      .type('image/gif')
      .header('cache-control', 'no-store')
      .header('cross-origin-resource-policy', 'cross-origin')
      .send(pixel)
  })
  http.get('/t/c/:token', { schema: click }, (request, reply) => {
    const [deliveryId, target] = links.read('click', request.params.token) ?? []
    const location = target !== undefined && /^https?:\/\//i.test(target) ? URL.parse(target)?.href : undefined
    if (location === undefined) {
      const texts = textsFor(pages, request)
      return sendPage(pages, reply, texts, linkFault(texts))
    }
    tell(request, deliveryId, 'clicked')
    return reply.code(302).header('location', location).send()
  })
}
