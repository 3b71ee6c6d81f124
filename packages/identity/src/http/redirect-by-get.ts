import type { FastifyReply } from 'fastify'
import type { Parameters } from '../oauth/parameters.ts'

/** Another site's form comes without our cookies; the same request as a navigation brings them along. */
export function redirectByGet(reply: FastifyReply, path: string, { form }: Parameters): FastifyReply {
  const pairs = Object.entries(form).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  return reply.redirect(`${path}?${new URLSearchParams(pairs)}`, 303)
}
