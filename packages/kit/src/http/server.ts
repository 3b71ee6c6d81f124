import { randomUUIDv7 } from 'node:crypto'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type FastifySchemaValidationError,
  fastify,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import { DatabasePartUnavailable, isUnavailable } from '../database/error.ts'
import type { Log } from '../log.ts'
import { Problem } from '../problem.ts'
import { decodeUtf8, findTextFault } from '../text/clean-text.ts'
import { answerBrokenRequest, refuseManyHeaders } from './broken-request.ts'
import { createBoundedServer, limitUnread } from './connections.ts'
import { addFormats } from './formats.ts'
import { jsonTypes, mediaTypeExpected, refusePatchElsewhere } from './media-types.ts'
import { recordMethods } from './methods.ts'
import { type AddressOf, AnswerLog, addressedLog, peerAddress, requestLog } from './request-log.ts'
import { targetFault } from './request-target.ts'
import { type BodyPatience, refuseSlowBodies } from './slow-body.ts'
import { compareItemsByHash } from './unique-items.ts'
import { partOf, prototypeMember, validationFault } from './validation-fault.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route itself rejects unclean text and deep nesting in its body. Default false. */
    readonly checksBodyText?: boolean
  }
}

/** The HTTP server and every encapsulated part of it, with TypeBox schemas as types. */
export type Http = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** How {@link createHttp} serves requests. */
export interface HttpOptions {
  readonly log: Log
  /** The largest body accepted, in bytes; a route may set its own. Default 256 KiB. */
  readonly bodyLimitBytes?: number
  /** Sends Strict-Transport-Security; for when the public address is https. */
  readonly https?: boolean
  /** How long request headers may take, in milliseconds. Default 15 s. */
  readonly headersTimeoutMs?: number
  readonly bodyPatience?: BodyPatience
  /** The address of the client behind trusted proxies. Default: the other end of the connection. */
  readonly addressOf?: AddressOf
}

const maxFaults = 50
const maxParamLength = 1024

/**
 * Creates the HTTP server of a service: strict validation (no coercion of bodies, no silent removal, all faults at
 * once), problem+json errors (RFC 9457), request ids in response and log, body limits and safe headers.
 *
 * @example
 * const http = createHttp({ log })
 * http.get('/notes', async () => ({ notes: [] }))
 * await http.listen({ port: 8080 })
 */
export function createHttp(options: HttpOptions): Http {
  const { headersTimeoutMs = 15_000, addressOf = peerAddress } = options
  const answers = new AnswerLog()
  const http: Http = fastify({
    loggerInstance: requestLog(options.log),
    logController: answers,
    bodyLimit: options.bodyLimitBytes ?? 256 * 1024,
    genReqId: (request) => requestId(request.headers['x-request-id']),
    routerOptions: { maxParamLength, ignoreTrailingSlash: false },
    serverFactory: (listener) => createBoundedServer(options.log, headersTimeoutMs, listener),
    clientErrorHandler: answerBrokenRequest,
    schemaController: { compilersFactory: { buildSerializer: lazySerialization } },
    forceCloseConnections: 'idle',
    childLoggerFactory: addressedLog(addressOf),
    frameworkErrors: (error, request, reply) => {
      writeError(error, request, reply)
      answers.requestCompleted(null, request, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  http.setValidatorCompiler(strictValidation())
  http.removeContentTypeParser(['application/json', 'text/plain'])
  http.addContentTypeParser([...jsonTypes], { parseAs: 'buffer' }, parseJson(http))
  recordMethods(http)
  http.addHook('onRequest', async (request) => {
    refuseManyHeaders(request.raw)
    if (options.addressOf) Object.defineProperty(request, 'ip', { value: addressOf(request.raw), configurable: true })
    const fault = targetFault(request.raw.url ?? '')
    if (fault !== undefined) throw new Problem(400, fault)
  })
  // Before the body is read, because no route needs it; after onRequest, where requests are counted.
  http.addHook('preParsing', (request, _reply, payload, done) =>
    done(request.is404 ? notFound(http, request) : null, payload),
  )
  http.addHook('preParsing', refusePatchElsewhere)
  refuseSlowBodies(http, options.bodyPatience ?? {})
  http.addHook('preValidation', refuseUncleanText)
  const headers = Object.entries({ ...safeHeaders, ...(options.https ? httpsHeaders : {}) })
  http.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) limitUnread(reply.raw)
    for (const [name, value] of headers) if (!reply.hasHeader(name)) reply.header(name, value)
    reply.header('x-request-id', request.id)
    done()
  })
  http.setErrorHandler(writeError)
  http.setNotFoundHandler((request, reply) => writeError(notFound(http, request), request, reply))
  return http
}

/** A path that is there under other methods says which (RFC 9110 §15.5.6). */
function notFound(http: Http, { method, url }: FastifyRequest): Problem {
  const path = url.split('?', 1)[0] ?? ''
  const methods = http.methodsAt(path)
  if (methods.length === 0) return new Problem(404, `Nothing is at ${method} ${path}.`)
  const allow = methods.join(', ')
  return new Problem(405, `${path} does not take ${method}; it takes ${allow}.`, { headers: { allow } })
}

const safeHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const httpsHeaders: Readonly<Record<string, string>> = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
}

function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\w.:-]{8,128}$/.test(header) ? header : randomUUIDv7()
}

/** Bodies are taken as they are; query strings and paths are text by nature, so there `"10"` may stand for 10. */
function strictValidation(): FastifySchemaCompiler<object> {
  const strict = { allErrors: true, removeAdditional: false, useDefaults: true, strict: false, verbose: true } as const
  const asSent = compareItemsByHash(addFormats(new Ajv({ ...strict, coerceTypes: false })))
  const fromText = compareItemsByHash(addFormats(new Ajv({ ...strict, coerceTypes: 'array' })))
  return ({ schema, httpPart }) => lazily(httpPart === 'body' || httpPart === 'headers' ? asSent : fromText, schema)
}

/** Compiles a schema when the first request needs it: compiling all of them took a third of the time to start. */
function lazily(ajv: Ajv, schema: object): ReturnType<FastifySchemaCompiler<object>> {
  let validate: ValidateFunction | undefined
  return (data: unknown) => {
    validate ??= ajv.compile(schema)
    return validate(data) ? true : { error: validate.errors as FastifySchemaValidationError[] }
  }
}

/** Compiles the serializer of a response when the first one is sent, for the same reason. */
function lazySerialization(...shared: Parameters<ReturnType<typeof SerializerSelector>>) {
  const compile = SerializerSelector()(...shared)
  return (route: Parameters<typeof compile>[0]): Serializer => {
    let serialize: Serializer | undefined
    return (value) => {
      serialize ??= compile(route)
      return serialize(value)
    }
  }
}

type Serializer = (value: unknown) => string

function parseJson(http: Http) {
  const parse = http.getDefaultJsonParser('error', 'error')
  return (request: FastifyRequest, body: Buffer, done: (error: Error | null, value?: unknown) => void): void => {
    const text = decodeUtf8(body)
    if (text === undefined) {
      done(new Problem(400, 'The body is not UTF-8.'))
      return
    }
    parse(request, text, (error, value) => {
      if (error) done(jsonProblem(text, error))
      else done(null, value)
    })
  }
}

/** Names the member of the JSON that would change an object's prototype. */
function jsonProblem(text: string, error: Error): Problem {
  const pointer = prototypeMember(tryParse(text))
  if (pointer === undefined) return new Problem(400, `The body is not JSON: ${error.message}`)
  const fault = { pointer, detail: 'is a name that no member may have' }
  return new Problem(400, `The body is not valid: ${pointer} ${fault.detail}.`, { errors: [fault] })
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refuseUncleanText(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  const { checksBodyText = false } = request.routeOptions.config
  const body = checksBodyText ? undefined : textFault('body', request.body)
  done(body ?? textFault('query', request.query) ?? textFault('path', request.params))
}

function textFault(part: string, value: unknown): Problem | undefined {
  const fault = findTextFault(value)
  if (fault === undefined) return undefined
  const { pointer, detail } = fault
  return new Problem(400, `The ${part} is not valid: ${pointer} ${detail}.`, { errors: [fault] })
}

function writeError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const problem = asProblem(error as FastifyError, request)
  if (problem.status >= 500) request.log.error({ err: error }, 'request failed')
  for (const [name, value] of Object.entries(problem.headers)) reply.header(name, value)
  reply.code(problem.status).type('application/problem+json').serializer(JSON.stringify)
  reply.send({ ...problem.body(), request_id: request.id })
}

function asProblem(error: FastifyError, request: FastifyRequest): Problem {
  if (error instanceof Problem) return error
  if (error.validation) {
    const errors = (error.validation as ErrorObject[]).slice(0, maxFaults).map(validationFault)
    const detail = errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
    return new Problem(400, `The ${partOf(error.validationContext)} is not valid: ${detail}.`, { errors })
  }
  if (isUnavailable(error)) return unavailable(error)
  const status = error.statusCode ?? 500
  if (status === 413) return new Problem(413, `The body is larger than the ${bodyLimitOf(request)} bytes allowed here.`)
  if (status === 414) return new Problem(414, `A part of the path is longer than ${maxParamLength} characters.`)
  if (status === 415) return mediaTypeExpected(request)
  if (status >= 500)
    return new Problem(500, 'An unexpected error occurred; the log has its cause under this request id.')
  return new Problem(status, error.message)
}

function unavailable(error: unknown): Problem {
  const isPart = error instanceof DatabasePartUnavailable
  const reason = isPart ? error.reason : 'A server that this request needs is temporarily unavailable'
  return new Problem(503, `${reason}; try again.`, {
    headers: { 'retry-after': '2' },
  })
}

function bodyLimitOf({ routeOptions, server }: FastifyRequest): number | undefined {
  return routeOptions.bodyLimit ?? server.initialConfig.bodyLimit
}
