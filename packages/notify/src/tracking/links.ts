import { type Http, htmlAnswer, redirectAnswer } from '@gatehouse/kit'
import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import { Type } from 'typebox'
import { linkFault } from '../links/link-fault.ts'
import type { Links } from '../links/links.ts'
import { operation } from '../request/operations.ts'
import type { RecordTracked } from './tracked-request.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const Token = Type.Object({ token: Type.String({ maxLength: 1_024, description: 'The signed part of the link.' }) })
const Image = { description: 'An image of one pixel.', content: { 'image/gif': { schema: Type.String() } } }

export interface TrackingRoutes {
  readonly links: Links
  readonly pages: PageParts
  readonly recordTracked: RecordTracked
}

/** /t/o/{token} and /t/c/{token}: a mail was opened, a link of it followed. */
export function trackingEndpoints(http: Http, { links, pages, recordTracked: recordVisit }: TrackingRoutes): void {
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

  http.get('/t/o/:token', { schema: open }, (request, reply) => {
    const about = links.read('open', request.params.token)
    if (about) recordVisit(request, { deliveryId: about[0], report: 'opened' })
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
    recordVisit(request, { deliveryId, report: 'clicked' })
    return reply.code(302).header('location', location).send()
  })
}
