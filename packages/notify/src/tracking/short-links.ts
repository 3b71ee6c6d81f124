import { type Clock, type Http, htmlAnswer, redirectAnswer } from '@gatehouse/kit'
import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import { Type } from 'typebox'
import { linkFault } from '../links/link-fault.ts'
import { operation } from '../request/operations.ts'
import type { ShortLinks } from '../store/store.ts'
import type { RecordTracked } from './tracked-request.ts'

const Id = Type.Object({ id: Type.String({ maxLength: 1_024, description: 'The id of the link.' }) })

export interface ShortLinkRoutes {
  readonly shortLinks: ShortLinks
  readonly pages: PageParts
  readonly recordTracked: RecordTracked
  readonly clock: Clock
}

/** /l/{id}: a link of an SMS, a push or an in-app item was followed. It leads where its row says and nowhere else. */
export function shortLinkEndpoint(
  http: Http,
  { shortLinks, pages, recordTracked: recordVisit, clock }: ShortLinkRoutes,
): void {
  http.get(
    '/l/:id',
    {
      schema: {
        tags: ['tracking'],
        security: [],
        params: Id,
        ...operation('shortLinks.follow'),
        response: {
          302: redirectAnswer('The link of the message.'),
          404: htmlAnswer('A page that says that this link does not exist or has expired.'),
        } as object,
      },
    },
    async (request, reply) => {
      const found = await shortLinks.find(request.params.id, clock.now())
      if (!found) {
        const texts = textsFor(pages, request)
        return sendPage(pages, reply, texts, linkFault(texts))
      }
      const { deliveryId, target } = found
      recordVisit(request, { deliveryId, report: 'clicked', link: target })
      return reply.code(302).header('location', target).send()
    },
  )
}
