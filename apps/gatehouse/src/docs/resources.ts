interface Described {
  readonly parameters?: ReadonlyArray<{ readonly in?: string; readonly name?: string }>
  readonly responses?: Readonly<Record<string, unknown>>
}

interface PageSchema {
  readonly properties?: { readonly items?: { readonly type?: string }; readonly next?: unknown }
  readonly required?: readonly string[]
}

/**
 * Marks an operation that returns a page of a list: `x-gatehouse-page` says whether `cursor` and `limit` are sent in the
 * query or in the body. Generated clients read it to iterate over all pages. A log that is read on forever, whose
 * response always has `next`, is no list.
 */
export function markList({ parameters = [], responses = {} }: Described): { 'x-gatehouse-page'?: 'query' | 'body' } {
  const { properties, required = [] } = schemaOf(responses['200'])
  if (properties?.items?.type !== 'array' || properties.next === undefined || required.includes('next')) return {}
  const isInQuery = parameters.some((parameter) => parameter.in === 'query' && parameter.name === 'cursor')
  return { 'x-gatehouse-page': isInQuery ? 'query' : 'body' }
}

function schemaOf(response: unknown): PageSchema {
  const { content } = (response ?? {}) as { content?: Record<string, { schema?: PageSchema }> }
  return content?.['application/json']?.schema ?? {}
}

/** Whether an operation takes `If-Match`. */
export function takesEntityTag({ parameters = [] }: Described): boolean {
  return parameters.some((parameter) => parameter.in === 'header' && parameter.name === 'if-match')
}

/** Whether the responses of an operation carry an entity tag: it changes a resource by `If-Match`, or reads such a one. */
export function carriesEntityTag(method: string, operation: Described, ofPath: readonly Described[]): boolean {
  const readsOne = method === 'get' && ofPath.some(takesEntityTag)
  return takesEntityTag(operation) || (readsOne && markList(operation)['x-gatehouse-page'] === undefined)
}
