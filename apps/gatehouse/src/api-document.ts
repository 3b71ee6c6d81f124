interface Reference {
  readonly $ref: string
}

interface Response {
  readonly description: string
  readonly headers?: object
  readonly content?: object
}

type Responses = Record<string, Response | Reference>

interface Operation {
  readonly tags?: readonly string[]
  readonly security?: ReadonlyArray<Readonly<Record<string, readonly string[]>>>
  readonly parameters?: ReadonlyArray<{ readonly in?: string }>
  readonly requestBody?: object
  readonly responses?: Responses
}

type Part = 'schemas' | 'responses' | 'headers' | 'securitySchemes'
type Components = Partial<Record<Part, object>>

/** An OpenAPI 3.1 document, in as much as is changed here. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths?: Record<string, Record<string, Operation>>
  readonly components?: Components
}

/** What an operation's route is to the gateway. */
export interface RouteFacts {
  /** Whether requests are counted. */
  readonly limited: boolean
}

const methods: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch'])

const problems = {
  400: ['BadRequest', 'Malformed: every fault is named, with where it is and what was expected.'],
  401: ['Unauthorized', 'No credential, or one that is no good (RFC 6750).'],
  403: ['Forbidden', 'The credential lacks the scope or role that is needed.'],
  404: ['NotFound', 'There is nothing of that name.'],
  409: ['Conflict', 'It is there already, or has moved on meanwhile.'],
  413: ['ContentTooLarge', 'The body is larger than is allowed here.'],
  415: ['UnsupportedMediaType', 'The body is of another media type than is taken here.'],
  422: ['UnprocessableContent', 'Well-formed, but naming something that is not there or cannot be.'],
  429: ['TooManyRequests', 'Over a limit; `Retry-After` says how long to wait.'],
  500: ['InternalServerError', 'Our fault; the log has it under the request id.'],
  503: ['ServiceUnavailable', 'Something that is needed is away; try again.'],
} as const
type ProblemStatus = keyof typeof problems

const integer = { type: 'integer' } as const
const rateLimitHeaders = {
  'X-RateLimit-Limit': { description: 'The limit of the tightest window.', schema: integer },
  'X-RateLimit-Remaining': { description: 'Requests left in it.', schema: integer },
  'X-RateLimit-Reset': { description: 'Unix seconds of the next window.', schema: integer },
} as const
const limitHeaders = Object.fromEntries(
  Object.keys(rateLimitHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)
const retryAfter = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }

const html = { content: { 'text/html': { schema: { type: 'string' } } } } as const

/**
 * Completes a gathered document by what all routes have in common: the problem details they may answer with, the headers of
 * limits, and that what asks for no credential is open.
 */
export function completed(document: ApiDocument, factsOf: (method: string, path: string) => RouteFacts): ApiDocument {
  const paths = Object.fromEntries(
    Object.entries(document.paths ?? {}).map(([path, item]) => [path, completeItem(path, item, factsOf)]),
  )
  return { ...document, paths, components: { ...document.components, ...commonComponents(document.components) } }
}

function completeItem(
  path: string,
  item: Readonly<Record<string, Operation>>,
  factsOf: (method: string, path: string) => RouteFacts,
): Record<string, Operation> {
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => [
      method,
      methods.has(method) ? completeOperation(method, operation, factsOf(method, path)) : operation,
    ]),
  )
}

function completeOperation(method: string, operation: Operation, { limited }: RouteFacts): Operation {
  const { tags = [], security = [], parameters = [], requestBody } = operation
  const { responses: declared = {} } = operation
  const isPage = tags.includes('pages')
  const own = isPage ? pageResponses() : withContent(declared)
  const common = problemsOf({
    asks: !isPage && security.length > 0 && security.every((one) => Object.keys(one).length > 0),
    sends: method !== 'get' && method !== 'head',
    takes: requestBody !== undefined,
    names: parameters.some((parameter) => parameter.in === 'path'),
    limited,
  })
  const responses: Responses = { ...common, ...own }
  if (limited) for (const [status, response] of Object.entries(own)) responses[status] = withLimits(status, response)
  return { ...operation, security, responses }
}

interface Traits {
  readonly asks: boolean
  /** Whether a request may come with a body, which is read in any case. */
  readonly sends: boolean
  readonly takes: boolean
  readonly names: boolean
  readonly limited: boolean
}

function problemsOf({ asks, sends, takes, names, limited }: Traits): Responses {
  const statuses: ProblemStatus[] = [
    400,
    ...(asks ? ([401, 403] as const) : []),
    ...(names ? ([404] as const) : []),
    ...(sends ? ([413, 415] as const) : []),
    ...(takes ? ([409, 422] as const) : []),
    ...(limited ? ([429] as const) : []),
    500,
    503,
  ]
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${problems[status][0]}` }]),
  )
}

/** Pages for people: a page, or somewhere else to go on. */
function pageResponses(): Responses {
  return {
    200: { description: 'A page.', ...html },
    302: { description: 'Goes on elsewhere.' },
    303: { description: 'Goes on elsewhere.' },
    400: { description: 'A page that says what is wrong.', ...html },
    403: { description: 'A page to begin again from: the form was not ours, or is too old.', ...html },
    404: { description: 'Not offered here, or over.', ...html },
  }
}

/** What a route declares stands; a status without a description gets its name's. */
function withContent(declared: Responses): Responses {
  return Object.fromEntries(
    Object.entries(declared).map(([status, response]) =>
      'description' in response && response.description === 'Default Response'
        ? [status, { ...response, description: Number(status) < 300 ? 'Done.' : 'Refused.' }]
        : [status, response],
    ),
  )
}

function withLimits(status: string, response: Response | Reference): Response | Reference {
  if ('$ref' in response) return response
  const waits = status === '429' ? retryAfter : {}
  return { ...response, headers: { ...response.headers, ...limitHeaders, ...waits } }
}

function commonComponents(components: Components = {}): Components {
  const responses = Object.entries(problems).map(([status, [name, description]]) => [
    name,
    {
      description,
      ...(status === '429' ? { headers: { ...limitHeaders, ...retryAfter } } : {}),
      ...(status === '503' ? { headers: retryAfter } : {}),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ])
  return {
    schemas: { ...components.schemas, Problem: problemSchema },
    responses: { ...components.responses, ...Object.fromEntries(responses) },
    headers: {
      ...components.headers,
      ...rateLimitHeaders,
      'Retry-After': { description: 'Seconds to wait.', schema: integer },
    },
  }
}

const problemSchema = {
  type: 'object',
  description: 'Problem details (RFC 9457).',
  required: ['type', 'title', 'status', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong, for people.' },
    errors: {
      type: 'array',
      description: 'Every fault of the request.',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: { pointer: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    'violated-policies': { type: 'array', items: { type: 'string' }, description: 'The limits that were reached.' },
    request_id: { type: 'string', description: 'Under which the log has the rest.' },
  },
} as const

/** Documents of services in other processes, joined to this one; what is here goes before. */
export function joined(own: ApiDocument, others: readonly ApiDocument[]): ApiDocument {
  const all = [...others, own]
  const merged = (part: Part): object => Object.assign({}, ...all.map(({ components }) => components?.[part]))
  const components = {
    schemas: merged('schemas'),
    responses: merged('responses'),
    headers: merged('headers'),
    securitySchemes: merged('securitySchemes'),
  }
  return { ...own, paths: Object.assign({}, ...all.map(({ paths }) => paths)), components }
}
