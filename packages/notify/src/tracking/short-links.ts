import type { Clock } from '@gatehouse/kit'
import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { linkFault } from '../links/link-fault.ts'
import type { ShortLinks } from '../store/store.ts'
import type { RecordTracked } from './tracked-request.ts'

/** What short links need. */
export interface ShortLinkContext {
  readonly shortLinks: ShortLinks
  readonly pages: PageParts
  readonly recordTracked: RecordTracked
  readonly clock: Clock
}

/** GET /l/{id}: a link of an SMS, a push or an in-app item was followed. It leads where its row says and nowhere else. */
export function followShortLink({ shortLinks, pages, recordTracked, clock }: ShortLinkContext) {
  return async (request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) => {
    const found = await shortLinks.find(request.params.id, clock.now())
    if (!found) {
      const texts = textsFor(pages, request)
      return sendPage(pages, reply, texts, linkFault(texts))
    }
    const { deliveryId, target } = found
    recordTracked(request, { deliveryId, report: 'clicked', link: target })
    return reply.code(302).header('location', target).send()
  }
}
