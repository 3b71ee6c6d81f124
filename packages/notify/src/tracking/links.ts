import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Links } from '../links.ts'
import type { NotifyMetrics } from '../metrics.ts'
import type { Reports } from '../reports.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const Token = Type.Object({ token: Type.String({ maxLength: 1_024 }) })

export interface TrackingRoutes {
  readonly links: Links
  readonly reports: Reports
  readonly metrics: NotifyMetrics
  readonly clock: { now(): number }
}

/** /t/o/{token} and /t/c/{token}: a mail was opened, a link of it followed. */
export function trackingEndpoints(http: Http, { links, reports, metrics, clock }: TrackingRoutes): void {
  const about = (summary: string) => ({ schema: { tags: ['tracking'], summary, security: [], params: Token } })
  const tell = (request: FastifyRequest, deliveryId: string | undefined, report: 'opened' | 'clicked') => {
    const machine = isMachine(request)
    metrics.tracked.inc({ report, by: machine ? 'machine' : 'reader' })
    if (machine || deliveryId === undefined) return
    // Nobody waits for it; those that come together are stored together.
    reports
      .take('tracking', [{ eventId: `${report}:${deliveryId}`, deliveryId, report, at: clock.now() }])
      .catch((error) => request.log.warn({ err: error }, 'an open or a click could not be stored'))
  }

  http.get('/t/o/:token', about('A mail was opened'), (request, reply) => {
    const about = links.read('open', request.params.token)
    if (about) tell(request, about[0], 'opened')
    return reply
      .type('image/gif')
      .header('cache-control', 'no-store')
      .header('cross-origin-resource-policy', 'cross-origin')
      .send(pixel)
  })
  http.get('/t/c/:token', about('A link of a mail was followed'), (request, reply) => {
    const [deliveryId, target] = links.read('click', request.params.token) ?? []
    if (target === undefined || !/^https?:\/\//i.test(target)) throw new Problem(404, 'This link is not one of ours.')
    tell(request, deliveryId, 'clicked')
    return reply.code(302).header('location', target).send()
  })
}

const machines =
  /GoogleImageProxy|YahooMailProxy|bot\b|crawler|spider|Barracuda|Mimecast|Proofpoint|SafeLinks|urlscan|Symantec|curl|python-requests|Go-http-client/i

/** Whether it says of itself that no person asks: a prefetch, an image proxy, a scanner of links. */
function isMachine({ method, headers }: FastifyRequest): boolean {
  const purposes = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']].join(' ')
  const agent = headers['user-agent'] ?? ''
  // Apple's Mail Privacy Protection calls itself nothing more than this.
  return (
    method === 'HEAD' ||
    /prefetch|preview|prerender/i.test(purposes) ||
    agent === '' ||
    agent === 'Mozilla/5.0' ||
    machines.test(agent)
  )
}
