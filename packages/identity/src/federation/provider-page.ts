import { sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyReply } from 'fastify'
import type { FederationContext } from '../context/features.ts'
import { type Connection, connectionName } from '../model/connection.ts'
import { providerPage } from '../pages/sign-in/provider-page.ts'
import type { BrowserExchange } from '../sessions/sign-in-page.ts'

/**
 * Sends the browser to a provider by a page that goes there by itself, not by redirect: a browser applies form-action to
 * every redirect after a form, and a provider may redirect to others.
 */
export function sendProviderPage(
  context: FederationContext,
  { request, reply }: BrowserExchange,
  connection: Connection,
  address: URL,
): FastifyReply {
  const texts = textsFor(context, request)
  reply.header('refresh', `0; url=${address.href}`)
  return sendPage(
    context,
    reply,
    texts,
    providerPage(texts, { key: 'provider', provider: connectionName(connection), address }),
  )
}
