import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError, printable } from '../oauth/error.ts'
import { type Form, Parameters, parseForm } from '../oauth/parameters.ts'

const formType = 'application/x-www-form-urlencoded'

/** Accepts forms as request bodies. */
export function acceptForms(http: Http): void {
  http.addContentTypeParser(formType, { parseAs: 'string', bodyLimit: 64 * 1024 }, (_request, body, done) => {
    done(null, parseForm(body as string))
  })
}

/**
 * The parameters of an OAuth request that came as a form (RFC 6749 §3.2).
 * @throws OAuthError `invalid_request` for any other body
 */
export function formParameters(request: FastifyRequest): Parameters {
  const type = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== formType) throw new OAuthError('invalid_request', `the body must be ${formType} (RFC 6749 section 3.2)`)
  return new Parameters((request.body ?? {}) as Form)
}

/**
 * The options that all OAuth routes share: schemas only document, the endpoint validates, so that every error is
 * reported in the format of §5.2.
 */
export const oauthRoute = {
  validatorCompiler: () => () => true,
  errorHandler: writeOAuthError,
} as const

function writeOAuthError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const known = toOAuthError(error)
  if (known.status >= 500) request.log.error({ err: error }, 'request failed')
  for (const [name, value] of Object.entries(known.headers)) reply.header(name, value)
  reply
    .code(known.status)
    .header('cache-control', 'no-store')
    .header('pragma', 'no-cache')
    .type('application/json')
    .serializer(JSON.stringify)
    .send(known.body())
}

/** Converts any error to the OAuth error that is sent. */
export function toOAuthError(error: unknown): OAuthError {
  return error instanceof OAuthError ? error : translateError(error as FastifyError)
}

function translateError(error: FastifyError): OAuthError {
  const status = error instanceof Problem ? error.status : (error.statusCode ?? 500)
  const headers = error instanceof Problem ? error.headers : {}
  if (status === 415) return new OAuthError('invalid_request', `the body must be ${formType} (RFC 6749 section 3.2)`)
  if (status === 429) return new OAuthError('temporarily_unavailable', printable(error.message), { status, headers })
  if (status === 503) return new OAuthError('temporarily_unavailable', printable(error.message), { headers })
  if (status < 500) return new OAuthError('invalid_request', printable(error.message), { headers })
  return new OAuthError('server_error', 'internal error; see the server log', { cause: error })
}
