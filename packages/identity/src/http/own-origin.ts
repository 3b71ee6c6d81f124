import type { FastifyRequest } from 'fastify'

/** Whether a browser says that a request comes from a page of ours. False where it says nothing. */
export function isFromOwnOrigin(
  { issuer }: { readonly issuer: string },
  { headers: { origin, host } }: FastifyRequest,
): boolean {
  if (origin === undefined) return false
  return origin === new URL(issuer).origin || URL.parse(origin)?.host === host
}
