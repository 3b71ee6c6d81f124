import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { linkFault } from '../links/link-fault.ts'
import type { Links } from '../links/links.ts'
import type { RecordTracked } from './tracked-request.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

/** What the links and pixels of mails need. */
export interface TrackingContext {
  readonly links: Links
  readonly pages: PageParts
  readonly recordTracked: RecordTracked
}

type TokenRequest = FastifyRequest<{ Params: { token: string } }>

/** GET /t/o/{token}: a mail was opened. The pixel is sent for an invalid token too. */
export function recordOpen({ links, recordTracked }: TrackingContext) {
  return (request: TokenRequest, reply: FastifyReply) => {
    const [deliveryId] = links.read('open', request.params.token) ?? []
    if (deliveryId !== undefined) recordTracked(request, { deliveryId, report: 'opened' })
    return reply
      .type('image/gif')
      .header('cache-control', 'no-store')
      .header('cross-origin-resource-policy', 'cross-origin')
      .send(pixel)
  }
}

/** GET /t/c/{token}: a link of a mail was followed. It leads where its signed part says and nowhere else. */
export function followLink({ links, pages, recordTracked }: TrackingContext) {
  return (request: TokenRequest, reply: FastifyReply) => {
    const [deliveryId, target] = links.read('click', request.params.token) ?? []
    const location = target !== undefined && /^https?:\/\//i.test(target) ? URL.parse(target)?.href : undefined
    if (location === undefined) {
      const texts = textsFor(pages, request)
      return sendPage(pages, reply, texts, linkFault(texts))
    }
    recordTracked(request, { deliveryId, report: 'clicked' })
    return reply.code(302).header('location', location).send()
  }
}
