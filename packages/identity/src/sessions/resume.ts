import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import { submitPage } from '../pages/submit-page.ts'
import type { Continuation } from './continuation.ts'

/** Servers and proxies reject longer addresses, such as the redirect of a large pushed request. */
export const maxRedirectLength = 4_000

/** The size limit of forms with a continuation: the largest request that can be pushed, sealed. */
export const continuationBytes = 256 * 1024

/** Resumes what the browser was doing: by redirect, or by a form when the address would be too long. */
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
  // The form may redirect to the client at once, and browsers apply form-action to redirects of forms too.
  const formTargets = target === undefined ? [origin] : [origin, target]
  return sendPage(context, reply, texts, { ...page, formTargets })
}
