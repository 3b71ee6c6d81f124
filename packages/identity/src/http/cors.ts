import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClientContext } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import { originOf } from '../oauth/redirect-uri.ts'

const allowedHeaders = 'authorization, content-type, dpop'

/**
 * Whether pages of `origin` may call on behalf of the client: its registered origins, and those of its redirect URIs.
 */
function mayCallFrom(client: Client, origin: string): boolean {
  return client.allowedOrigins.includes(origin) || client.redirectUris.some((uri) => originOf(uri) === origin)
}

/** Allows a page of the client to read the response (Fetch, CORS), without cookies. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, client: Client): void {
  const { origin } = request.headers
  if (origin === undefined) return
  reply.header('vary', 'Origin')
  if (mayCallFrom(client, origin)) {
    reply.header('access-control-allow-origin', origin)
    reply.header('access-control-expose-headers', 'www-authenticate, retry-after')
    reply.header('cross-origin-resource-policy', 'cross-origin')
  }
}

/** Answers a preflight request. It does not name the client, so any origin passes; the request itself is checked. */
export function preflight(methods: string) {
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { origin } = request.headers
    if (origin !== undefined) {
      reply.header('vary', 'Origin').header('access-control-allow-origin', origin)
      reply.header('access-control-allow-methods', methods).header('access-control-allow-headers', allowedHeaders)
      reply.header('access-control-max-age', '600')
    }
    return reply.code(204).send()
  }
}

/** Answers a preflight request for public documents, from any origin. */
export function openPreflight(methods: string) {
  return (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    reply.header('access-control-allow-origin', '*').header('access-control-allow-methods', methods)
    return reply.header('access-control-allow-headers', '*').header('access-control-max-age', '600').code(204).send()
  }
}

/** Allows the origins of a client that the endpoint knows only from a token. */
export async function allowOriginOfClient(
  { clients }: Pick<ClientContext, 'clients'>,
  request: FastifyRequest,
  reply: FastifyReply,
  clientId: string,
): Promise<void> {
  const client = await clients.find(clientId)
  if (client !== undefined) allowOrigin(request, reply, client)
}
