import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Destination } from '../oauth/authorization-request.ts'
import type { OAuthError } from '../oauth/error.ts'
import { originOf } from '../oauth/redirect-uri.ts'
import { submitPage } from '../pages/submit-page.ts'

/** The request of a browser and its reply. */
interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** Sends the authorization response to the client; with the issuer, which prevents mix-up attacks (RFC 9207). */
export function sendResponse(
  context: PageParts & { readonly issuer: string },
  { request, reply }: Exchange,
  { redirectUri, responseMode, state }: Destination,
  response: Readonly<Record<string, string>>,
): FastifyReply {
  const fields = { ...response, ...(state === undefined ? {} : { state }), iss: context.issuer }
  if (responseMode === 'form_post') {
    const texts = textsFor(context, request)
    return sendPage(context, reply, texts, submitPage(texts, redirectUri, originOf(redirectUri), fields))
  }
  const query = new URLSearchParams(fields).toString()
  const address = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
  return reply.header('cache-control', 'no-store').redirect(address, request.method === 'POST' ? 303 : 302)
}

/** Sends an error to the client (RFC 6749 §4.1.2.1). */
export function sendErrorResponse(
  context: PageParts & { readonly issuer: string },
  exchange: Exchange,
  destination: Destination,
  error: OAuthError,
): FastifyReply {
  return sendResponse(context, exchange, destination, error.body())
}
