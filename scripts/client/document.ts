/** An OpenAPI 3.1 document, in as much as a client is generated from it. */

/** A JSON Schema, in as much as the API document uses it. */
export interface Schema {
  readonly $ref?: string
  readonly title?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

/** Media types with the schema of what comes in them. */
export type Content = Readonly<Record<string, { readonly schema?: Schema }>>

export interface ApiOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: ReadonlyArray<Readonly<Record<string, readonly string[]>>>
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
  readonly 'x-gatehouse-page'?: 'query' | 'body'
  readonly 'x-gatehouse-idempotent'?: boolean | string
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** An operation with its place. */
export interface PlacedOperation {
  readonly method: string
  readonly path: string
  readonly operation: ApiOperation
}

/** The media types of a client; pages and images are for browsers. */
const readable = /^(?:application\/(?:[\w.-]+\+)?json|application\/x-ndjson|text\/(?:plain|event-stream))/

/**
 * The operations of a client, by their ids: no pages, and none that authenticate clients, which the credentials of a
 * client call by themselves.
 */
export function clientOperations({ paths }: Document): PlacedOperation[] {
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )
    .filter(({ operation }) => isForClients(operation))
    .sort((a, b) => (a.operation.operationId < b.operation.operationId ? -1 : 1))
}

function isForClients({ tags = [], security = [], responses }: ApiOperation): boolean {
  if (tags.includes('pages') || tags.includes('subscriptions') || security.some((one) => 'basic' in one)) return false
  return Object.entries(responses).some(([status, { content }]) => {
    if (!status.startsWith('2')) return false
    return content === undefined || Object.keys(content).some((type) => readable.test(type))
  })
}

/** The content of the answer that means success. */
export function successContent({ responses }: ApiOperation): Content {
  const status = Object.keys(responses).find((one) => one.startsWith('2')) ?? ''
  return responses[status]?.content ?? {}
}
