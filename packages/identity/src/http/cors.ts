import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClientContext } from '../context/context.ts'
import type { Client } from '../model/client.ts'
import { originOf } from '../oauth/redirect-uri.ts'

const allowedHeaders = 'authorization, content-type, dpop'

/** Whether pages of `origin` may call for the client: those it is registered with, and those it is sent back to. */
function mayCallFrom(client: Client, origin: string): boolean {
  return client.allowedOrigins.includes(origin) || client.redirectUris.some((uri) => originOf(uri) === origin)
}

/** Lets a page of the client's read the answer (Fetch, CORS). Never with cookies. */
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

/** Answers a preflight: a browser asks before it is known for whom it calls; the call itself is checked. */
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

/** The same for what anyone may read, from anywhere and without credentials. */
export function openPreflight(methods: string) {
  return (_request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    reply.header('access-control-allow-origin', '*').header('access-control-allow-methods', methods)
    return reply.header('access-control-allow-headers', '*').header('access-control-max-age', '600').code(204).send()
  }
}

/** For an endpoint that knows its client only by a token: the origin of any registered one. */
export async function allowOriginOfClient(
  { clients }: Pick<ClientContext, 'clients'>,
  request: FastifyRequest,
  reply: FastifyReply,
  clientId: string,
): Promise<void> {
  const client = await clients.find(clientId)
  if (client !== undefined) allowOrigin(request, reply, client)
}
