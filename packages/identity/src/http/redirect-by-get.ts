import type { FastifyReply } from 'fastify'
import type { Parameters } from '../oauth/parameters.ts'

/** Redirects a cross-site POST, which comes without our cookies, to the same request as a navigation, which brings them. */
export function redirectByGet(reply: FastifyReply, path: string, { form }: Parameters): FastifyReply {
  const pairs = Object.entries(form).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  return reply.redirect(`${path}?${new URLSearchParams(pairs)}`, 303)
}
