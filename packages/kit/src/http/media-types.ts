import type { FastifyReply, FastifyRequest, RequestPayload } from 'fastify'
import { Problem } from '../problem.ts'

/** Changes to a resource, where null removes a member (RFC 7396): what PATCH takes. */
const patchType = 'application/merge-patch+json'

/** Whether the body of a request is a merge patch (RFC 7396). */
export function isMergePatch({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === patchType
}

/** Applies a merge patch: members that are null in it are removed, objects are merged (RFC 7396 §2). */
export function applyMergePatch(
  target: Readonly<Record<string, unknown>>,
  patch: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const left = Object.entries(target).filter(([name]) => patch[name] !== null)
  const changed = Object.entries(patch).flatMap(([name, value]) => {
    if (value === null) return []
    return [
      [name, isObject(value) ? applyMergePatch(isObject(target[name]) ? target[name] : {}, value) : value] as const,
    ]
  })
  return Object.fromEntries([...left, ...changed])
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is read as JSON. */
export const jsonTypes = ['application/json', patchType] as const

const mediaTypes = [...jsonTypes, 'application/x-www-form-urlencoded', 'text/plain']

/** The 415 response for a media type that the route does not accept (RFC 9110 §15.5.16, RFC 5789 §3.1). */
export function mediaTypeExpected({ server, headers, method }: FastifyRequest): Problem {
  const contentType = headers['content-type']
  const isPatch = method === 'PATCH'
  const accepted = mediaTypes.filter((type) => server.hasContentTypeParser(type) && (isPatch || type !== patchType))
  const detail = `The body must be ${accepted.join(' or ')}${contentType === undefined ? '' : `, not ${contentType.split(';', 1)[0]}`}.`
  return new Problem(415, detail, { headers: { [isPatch ? 'accept-patch' : 'accept']: accepted.join(', ') } })
}

/** Accepts merge patches with PATCH only: a PUT of one would store its nulls. */
export function refusePatchElsewhere(
  request: FastifyRequest,
  _reply: FastifyReply,
  payload: RequestPayload,
  done: (error?: Error | null, payload?: RequestPayload) => void,
): void {
  const { method, server } = request
  const misplaced = isMergePatch(request) && method !== 'PATCH' && server.hasContentTypeParser(patchType)
  done(misplaced ? mediaTypeExpected(request) : null, payload)
}
