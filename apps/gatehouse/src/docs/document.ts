import { markIdempotent } from './idempotent.ts'
import { carriesEntityTag, markList, takesEntityTag } from './resources.ts'
import {
  commonComponents,
  descriptionOf,
  type ProblemStatus,
  pageResponses,
  problemResponses,
  type Responses,
  withEntityTag,
  withLimits,
} from './responses.ts'
import { precise } from './schemas.ts'
import { scopes } from './scopes.ts'
import { declaredTags } from './tags.ts'

type SecurityRequirement = Readonly<Record<string, readonly string[]>>

interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly SecurityRequirement[]
  readonly parameters?: ReadonlyArray<{ readonly in?: string; readonly name?: string }>
  readonly requestBody?: { readonly content?: Readonly<Record<string, unknown>> }
  readonly responses?: Responses
  readonly 'x-gatehouse-page'?: 'query' | 'body'
  readonly 'x-gatehouse-idempotent'?: boolean | 'dedup_key'
}

const parts = ['schemas', 'responses', 'headers', 'securitySchemes'] as const
type Part = (typeof parts)[number]
type Components = Partial<Record<Part, object>>
type Paths = Record<string, Record<string, Operation>>

/** An OpenAPI 3.1 document, in as much as is changed here. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths?: Paths
  readonly components?: Components
}

/** What an operation's route is to the gateway. */
export interface RouteFacts {
  /** Whether requests are counted. */
  readonly limited: boolean
  /** Whether an API key is accepted in place of an access token. */
  readonly apiKeys: boolean
}

const methods: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch'])

/**
 * Completes a gathered document by what all routes have in common: the problem details they may answer with, the headers of
 * limits, the credentials, the tags, and that an operation without security needs no credential.
 */
export function completeDocument(
  document: ApiDocument,
  factsOf: (method: string, path: string) => RouteFacts,
): ApiDocument {
  const paths = Object.fromEntries(
    Object.entries(precise(document.paths ?? {})).map(([path, item]) => [path, completeItem(path, item, factsOf)]),
  )
  const common: Components = commonComponents()
  const components = Object.fromEntries(
    parts.map((part) => [part, { ...document.components?.[part], ...common[part] }]),
  )
  return pruneDocument({ ...document, paths, components })
}

/** The document with the tags that its operations carry, and without components that nothing refers to. */
function pruneDocument(document: ApiDocument): ApiDocument {
  const operations = Object.values(document.paths ?? {}).flatMap((item) => Object.values(item))
  const tags = declaredTags(new Set(operations.flatMap((operation) => operation.tags ?? [])))
  return { ...document, tags, components: usedComponents(document, operations) }
}

function usedComponents({ paths, components = {} }: ApiDocument, operations: readonly Operation[]): Components {
  const used = new Set(
    operations.flatMap(({ security = [] }) => security.flatMap((one) => Object.keys(one))).map(schemePointer),
  )
  const follow = (value: unknown): void => {
    for (const [, pointer = ''] of JSON.stringify(value ?? {}).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      if (used.has(pointer)) continue
      used.add(pointer)
      const [part = '', name = ''] = pointer.split('/')
      follow((components[part as Part] as Record<string, unknown> | undefined)?.[name])
    }
  }
  follow(paths)
  const kept = (part: Part) => Object.entries(components[part] ?? {}).filter(([name]) => used.has(`${part}/${name}`))
  return Object.fromEntries(parts.map((part) => [part, Object.fromEntries(kept(part))]))
}

const schemePointer = (name: string) => `securitySchemes/${name}`

function completeItem(
  path: string,
  item: Readonly<Record<string, Operation>>,
  factsOf: (method: string, path: string) => RouteFacts,
): Record<string, Operation> {
  const operations = Object.values(item)
  return Object.fromEntries(
    Object.entries(item).map(([method, operation]) => [
      method,
      methods.has(method)
        ? completeOperation(method, operation, {
            ...factsOf(method, path),
            isTagged: carriesEntityTag(method, operation, operations),
          })
        : operation,
    ]),
  )
}

interface Completion extends RouteFacts {
  /** Whether its responses carry an entity tag. */
  readonly isTagged: boolean
}

function completeOperation(method: string, operation: Operation, facts: Completion): Operation {
  const { tags = [], security = [], parameters = [], responses: declared = {} } = operation
  const isPage = tags.includes('pages')
  const own = isPage ? pageResponses : withDescriptions(declared)
  const statuses = problemsOf({
    answers: isPage ? 'pages' : security.some((one) => 'basic' in one) ? 'OAuth errors' : 'problems',
    asks: security.length > 0 && security.every((one) => Object.keys(one).length > 0),
    sends: method !== 'get' && method !== 'head',
    names: parameters.some((parameter) => parameter.in === 'path'),
    limited: facts.limited,
    matches: takesEntityTag(operation),
  })
  const responses = Object.fromEntries(
    Object.entries(own).map(([status, response]) => {
      const shown = facts.isTagged && status.startsWith('2') ? withEntityTag(response) : response
      return [status, facts.limited ? withLimits(status, shown) : shown]
    }),
  )
  return {
    ...operation,
    ...(method === 'patch' ? mergePatch(operation) : {}),
    ...markList(operation),
    ...markIdempotent(operation.operationId),
    security: facts.apiKeys ? withApiKeys(security) : security,
    responses: { ...problemResponses(statuses, isPage), ...responses },
  }
}

/** Changes may come as a merge patch as well (RFC 7396). */
function mergePatch({ requestBody }: Operation): Pick<Operation, 'requestBody'> {
  const { 'application/json': json, ...others } = requestBody?.content ?? {}
  const content = { 'application/json': json, 'application/merge-patch+json': json, ...others }
  return json === undefined ? {} : { requestBody: { ...requestBody, content } }
}

interface Traits {
  /**
   * What its errors are: pages for people; those of RFC 6749 §5.2, which the routes that authenticate clients declare
   * themselves; or problem details.
   */
  readonly answers: 'pages' | 'OAuth errors' | 'problems'
  /** Whether it requires a credential. */
  readonly asks: boolean
  /** Whether it may change something. A request may come with a body, which is read in any case. */
  readonly sends: boolean
  /** Whether it has path parameters. */
  readonly names: boolean
  readonly limited: boolean
  /** Whether it takes If-Match. */
  readonly matches: boolean
}

function problemsOf({ answers, asks, sends, names, limited, matches }: Traits): ProblemStatus[] {
  const always: ProblemStatus[] = [405, 431, ...(sends ? ([408] as const) : [])]
  if (answers === 'OAuth errors') return always
  const isPage = answers === 'pages'
  return [
    ...always,
    400,
    ...(asks ? ([401, 403] as const) : []),
    ...(isPage ? ([403, 404] as const) : []),
    ...(names ? ([404, 414] as const) : []),
    ...(sends ? ([413, 415] as const) : []),
    ...(sends && !isPage ? ([409, 422] as const) : []),
    ...(matches ? ([412] as const) : []),
    ...(limited ? ([429] as const) : []),
    500,
    503,
  ]
}

/** An API key carries scopes as an access token does; only the scopes of users belong to tokens alone. */
function withApiKeys(security: readonly SecurityRequirement[]): readonly SecurityRequirement[] {
  const keys = security.some(({ bearer = [] }) => bearer.some((scope) => Object.hasOwn(scopes, scope)))
  return keys ? [...security, { apiKey: [] }] : security
}

/** What a route declares stands; a status without a description gets one. */
function withDescriptions(declared: Responses): Responses {
  return Object.fromEntries(
    Object.entries(declared).map(([status, response]) =>
      'description' in response && response.description === 'Default Response'
        ? [status, { ...response, description: descriptionOf(status) }]
        : [status, response],
    ),
  )
}

/** Documents of services in other processes, joined to this one; what is here goes before. */
export function joinDocuments(own: ApiDocument, others: readonly ApiDocument[]): ApiDocument {
  const all = [...others, own]
  const merged = (part: Part): object => Object.assign({}, ...all.map(({ components }) => components?.[part]))
  const components = Object.fromEntries(parts.map((part) => [part, merged(part)]))
  return pruneDocument({ ...own, paths: Object.assign({}, ...all.map(({ paths }) => paths)), components })
}
