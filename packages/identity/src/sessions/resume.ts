import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import { submitPage } from '../pages/submit-page.ts'
import type { Continuation } from './continuation.ts'

/** Servers and proxies refuse longer addresses, and with them the redirect of a large pushed request. */
const maxRedirectLength = 4_000

/** What forms may hold that carry a continuation: the largest request that can be pushed, sealed. */
export const continuationBytes = 256 * 1024

/** Goes on with what the browser was about to do: by redirect, or by a form when it is too long for an address. */
export function resume(
  {
    context,
    request,
    reply,
  }: { readonly context: PageContext; readonly request: FastifyRequest; readonly reply: FastifyReply },
  { to, target }: Pick<Continuation, 'to' | 'target'>,
  sealed: string,
): FastifyReply {
  if (sealed.length <= maxRedirectLength) {
    return reply.redirect(`${to}?continuation=${encodeURIComponent(sealed)}`, 303)
  }
  const texts = textsFor(context, request)
  const { origin } = new URL(context.issuer)
  const page = submitPage(texts, to, origin, { continuation: sealed })
  // What the form leads to may lead on to the client at once, and browsers hold redirects of forms to their targets.
  const formTargets = target === undefined ? [origin] : [origin, target]
  return sendPage(context, reply, texts, { ...page, formTargets })
}
