import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PageContext } from '../context/context.ts'
import { isFromOwnOrigin } from '../http/own-origin.ts'
import type { Parameters } from '../oauth/parameters.ts'
import { originOf } from '../oauth/redirect-uri.ts'
import { submitPage } from '../pages/submit-page.ts'
import { comesWithoutCookies } from './browser.ts'
import { maxRedirectLength } from './resume.ts'

/**
 * Whether a request is a form of another site, with which the browser sends none of our cookies. One from a page of ours
 * is none, so that a browser that keeps no cookies is answered.
 */
export function isCrossSiteForm(context: PageContext, request: FastifyRequest): boolean {
  return request.method === 'POST' && comesWithoutCookies(context, request) && !isFromOwnOrigin(context, request)
}

/**
 * Answers a form of another site so that the browser sends it again with its cookies: by a redirect, or from a page of
 * ours where the address would be too long.
 *
 * @param findTarget the address where the answer to the form may lead, if it leads away
 */
export async function sendAgainWithCookies(
  context: PageContext,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  { path, parameters }: { readonly path: string; readonly parameters: Parameters },
  findTarget: () => Promise<string | undefined>,
): Promise<FastifyReply> {
  const { form } = parameters
  const pairs = Object.entries(form).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  const address = `${path}?${new URLSearchParams(pairs)}`
  if (address.length <= maxRedirectLength) return reply.redirect(address, 303)
  const target = await findTarget()
  const texts = textsFor(context, request, parameters.get('ui_locales'))
  const { origin } = new URL(context.issuer)
  const page = submitPage(texts, path, origin, form)
  // Browsers apply form-action to redirects of forms too.
  return sendPage(context, reply, texts, {
    ...page,
    formTargets: target === undefined ? [origin] : [origin, originOf(target)],
  })
}
