import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { Problem } from './problem.ts'

/** Changes to a resource, where null removes a member (RFC 7396): what PATCH takes. */
const patchType = 'application/merge-patch+json'

/** What is read as JSON. */
export const jsonTypes = ['application/json', patchType] as const

const mediaTypes = [...jsonTypes, 'application/x-www-form-urlencoded', 'text/plain']

/** The answer to a body of a type that is not read here: which are (RFC 9110 §15.5.16, RFC 5789 §3.1). */
export function mediaTypeExpected({ server, headers, method }: FastifyRequest): Problem {
  const given = headers['content-type']
  const isPatch = method === 'PATCH'
  const taken = mediaTypes.filter((type) => server.hasContentTypeParser(type) && (isPatch || type !== patchType))
  const told = `The body must be ${taken.join(' or ')}${given === undefined ? '' : `, not ${given.split(';', 1)[0]}`}.`
  return new Problem(415, told, { headers: { [isPatch ? 'accept-patch' : 'accept']: taken.join(', ') } })
}

/** Changes are for PATCH alone: whoever puts them would have the nulls stored. */
export function refusePatchElsewhere(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error?: Error | null, payload?: RequestPayload) => void,
): void {
  const { method, headers, server } = request
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const misplaced = type === patchType && method !== 'PATCH' && server.hasContentTypeParser(patchType)
  done(misplaced ? mediaTypeExpected(request) : null, payload)
}
