import { Problem } from '@gatehouse/kit'
import { type PageParts, sendPage, textsFor } from '@gatehouse/kit/page'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../oauth/error.ts'
import { type Form, Parameters } from '../oauth/parameters.ts'
import { errorPage } from '../pages/error-page.ts'
import { type NextStep, PageError } from '../pages/page-error.ts'
import { PasswordQueueFull } from '../passwords/hasher.ts'

/** The options that all pages share: schemas only document, and errors are pages too. */
export function pageRoute(context: PageParts) {
  return {
    validatorCompiler: () => () => true,
    errorHandler: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      const texts = textsFor(context, request)
      const { status, headers, ...wrong } = describeError(error)
      if (status >= 500) request.log.error({ err: error }, 'request failed')
      for (const [name, value] of Object.entries(headers)) reply.header(name, value)
      sendPage(context, reply, texts, { ...errorPage(texts, { ...wrong, requestId: request.id }), status })
    },
  } as const
}

interface PageFault {
  readonly status: number
  readonly text: string
  readonly detail?: string
  readonly next?: NextStep | undefined
  readonly headers: Readonly<Record<string, string>>
}

function describeError(error: FastifyError): PageFault {
  if (error instanceof PageError) {
    const { status, text, headers, next } = error
    return { status, text, headers, next }
  }
  if (error instanceof PasswordQueueFull) return { status: 503, text: 'login.busy', headers: { 'retry-after': '5' } }
  if (error instanceof OAuthError) {
    const { error: code, error_description } = error.body()
    return { status: error.status, text: 'error.lead', detail: `${code}: ${error_description}`, headers: error.headers }
  }
  const status = error instanceof Problem ? error.status : (error.statusCode ?? 500)
  if (status >= 500) return { status: 500, text: 'error.unforeseen', headers: {} }
  return { status, text: 'error.lead', detail: `invalid_request: ${error.message}`, headers: {} }
}

/** The parameters of a page: of its query, or of its form. */
export function pageParameters(request: FastifyRequest): Parameters {
  return new Parameters(((request.method === 'POST' ? request.body : request.query) ?? {}) as Form)
}
