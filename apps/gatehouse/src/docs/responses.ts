import { htmlAnswer, ProblemBody } from '@gatehouse/kit'

/** A response of an operation, as an OpenAPI document holds it. */
export interface Response {
  readonly description: string
  readonly headers?: object
  readonly content?: object
}

interface Reference {
  readonly $ref: string
}

/** The responses of an operation by status. */
export type Responses = Readonly<Record<string, Response | Reference>>

/** The problems that operations have in common: the name of the component, and what the status means here. */
const problems = {
  400: ['BadRequest', 'Malformed. Every fault is named, with its place and what was expected.'],
  401: ['Unauthorized', 'The credential is missing, invalid or expired (RFC 6750).'],
  403: ['Forbidden', 'The credential lacks the required scope or role.'],
  404: ['NotFound', 'No resource has this identifier.'],
  405: ['MethodNotAllowed', 'The path exists, with other methods; `Allow` lists them.'],
  408: ['RequestTimeout', 'The body came too slowly.'],
  409: ['Conflict', 'The resource exists already, or was changed meanwhile.'],
  412: ['PreconditionFailed', 'It was changed since it was read; `etag` is its current entity tag.'],
  413: ['ContentTooLarge', 'The body is larger than this operation accepts.'],
  414: ['UriTooLong', 'A path parameter is longer than 1024 characters.'],
  415: ['UnsupportedMediaType', 'The body has a media type that this operation does not accept.'],
  422: [
    'UnprocessableContent',
    'Well-formed, but the content refers to something that does not exist or is not allowed.',
  ],
  429: ['TooManyRequests', 'Limit exceeded. `Retry-After` says how long to wait.'],
  431: ['HeadersTooLarge', 'The request line and the headers are larger than 16 KiB.'],
  500: ['InternalServerError', 'An unexpected error; the log has its cause under the request id.'],
  503: ['ServiceUnavailable', 'An engine that this operation needs does not answer. Try again.'],
} as const
/** A status that operations answer with problem details. */
export type ProblemStatus = keyof typeof problems

/** What a status means where the route does not say more. */
export function descriptionOf(status: string): string {
  const known = Object.entries(problems).find(([one]) => one === status)
  return known ? known[1][1] : status === '204' ? 'Done; no content.' : 'Done.'
}

const integer = { type: 'integer' } as const
const rateLimitHeaders = {
  'X-RateLimit-Limit': { description: 'The limit of the tightest window.', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests left in this window.', schema: integer },
  'X-RateLimit-Reset': { description: 'Unix seconds at which the next window begins.', schema: integer },
} as const
const allHeaders = {
  ...rateLimitHeaders,
  'Retry-After': { description: 'Seconds to wait.', schema: integer },
  'WWW-Authenticate': { description: 'What is required (RFC 6750 §3).', schema: { type: 'string' } },
  Location: { description: 'Where to go on.', schema: { type: 'string' } },
  ETag: { description: 'The entity tag, for `If-Match` (RFC 9110 §8.8.3).', schema: { type: 'string' } },
  Allow: { description: 'The methods of this path (RFC 9110 §10.2.1).', schema: { type: 'string' } },
} as const

/** The references to headers, by their names. */
function headers(...names: readonly (keyof typeof allHeaders)[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

const limitHeaders = headers('X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset')

/** The headers that come with a problem of this status. */
function headersOf(status: ProblemStatus): object | undefined {
  if (status === 401) return headers('WWW-Authenticate')
  if (status === 405) return headers('Allow')
  if (status === 412) return headers('ETag')
  if (status === 429) return { ...limitHeaders, ...headers('Retry-After') }
  if (status === 503) return headers('Retry-After')
  return undefined
}

/** References to the problems of these statuses; those of `html` operations are pages. */
export function problemResponses(statuses: readonly ProblemStatus[], html = false): Responses {
  return Object.fromEntries(
    statuses.map((status) => {
      const [name] = problems[status]
      return [status, { $ref: `#/components/responses/${html && !beforeRoutes.has(status) ? `${name}Page` : name}` }]
    }),
  )
}

/** What is answered before a route is found, and so always as problem details. */
const beforeRoutes: ReadonlySet<ProblemStatus> = new Set([405, 408, 414, 431])

/** A response with the headers of the limit that the request was counted by. */
export function withLimits(status: string, response: Response | Reference): Response | Reference {
  if ('$ref' in response) return response
  const waits = status === '429' ? headers('Retry-After') : {}
  return { ...response, headers: { ...response.headers, ...limitHeaders, ...waits } }
}

/** A response with the entity tag of the resource that it shows. */
export function withEntityTag(response: Response | Reference): Response | Reference {
  return '$ref' in response ? response : { ...response, headers: { ...response.headers, ...headers('ETag') } }
}

const page = { 'text/html': { schema: { type: 'string' } } } as const
const problem = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } as const

const redirect: Response = { description: 'A redirect.', headers: headers('Location') }

/** What pages for people answer, besides errors: a page, or a redirect. */
export const pageResponses: Responses = {
  200: htmlAnswer('A page.'),
  302: redirect,
  303: redirect,
}

/** The components that completed operations refer to. */
export function commonComponents() {
  const all = (Object.keys(problems) as unknown as ProblemStatus[]).map(Number) as ProblemStatus[]
  const response = (status: ProblemStatus, content: object): Response => {
    const common = headersOf(status)
    return { description: problems[status][1], ...(common ? { headers: common } : {}), content }
  }
  return {
    schemas: { Problem: ProblemBody },
    responses: Object.fromEntries(
      all.flatMap((status) => [
        [problems[status][0], response(status, problem)],
        [`${problems[status][0]}Page`, response(status, page)],
      ]),
    ),
    headers: allHeaders,
  }
}
