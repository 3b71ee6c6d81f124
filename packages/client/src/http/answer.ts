import { type ApiError, createApiError, type ProblemDetails } from '../errors/api-error.ts'
import { GatehouseError } from '../errors/gatehouse-error.ts'
import { parseRetryAfter } from './retry-after.ts'

/** The value of an answer: JSON where it is JSON, undefined where there is nothing, else its text. */
export function parseAnswer(headers: Headers, text: string): unknown {
  if (text === '') return undefined
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(headers.get('content-type') ?? '')) return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    const requestId = requestIdOf(headers)
    throw new GatehouseError('the answer is not JSON', { code: 'invalid_response', requestId, cause })
  }
}

/** The error of an answer that is not 2xx. */
export function parseRefusal(status: number, headers: Headers, text: string, nowMs: number): ApiError {
  const problem = parseProblem(text)
  return createApiError({
    status,
    problem,
    challenge: parseChallenge(headers),
    requestId: requestIdOf(headers) ?? problem.request_id,
    retryAfterMs: parseRetryAfter(headers, nowMs),
  })
}

/** The parameters of `WWW-Authenticate`. */
export function parseChallenge(headers: Headers): Record<string, string> {
  const pairs = (headers.get('www-authenticate') ?? '').matchAll(/([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))/g)
  return Object.fromEntries(
    [...pairs].map(([, name, quoted, plain]) => [name, quoted?.replace(/\\(.)/g, '$1') ?? plain]),
  )
}

/** The id of a request in the log of the server. */
export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('x-request-id') ?? undefined
}

function parseProblem(text: string): ProblemDetails {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as ProblemDetails) : {}
  } catch {
    return {}
  }
}
