import type { ApiOperation, Parameter, PlacedOperation, Schema } from './document.ts'

/** How the input of an operation becomes a request. */
export interface InputForm {
  readonly path: readonly Parameter[]
  readonly query: readonly Parameter[]
  /** The members of the input are those of the body, or the body is the member `body`; undefined without a body. */
  readonly body?: 'members' | 'value'
  readonly bodySchema?: Schema
  readonly isBodyRequired: boolean
  /** The media type, when it is not JSON. */
  readonly contentType?: string
}

/** Reads what an operation takes. Header fields are options of a call, not input. */
export function inputForm({ operation }: PlacedOperation, schemas: Readonly<Record<string, Schema>>): InputForm {
  const { parameters = [], requestBody } = operation
  const path = parameters.filter((parameter) => parameter.in === 'path')
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const [contentType, schema] = bodyOf(operation)
  if (contentType === undefined || schema === undefined) return { path, query, isBodyRequired: false }
  const isJson = contentType === 'application/json'
  const resolved = schema.$ref === undefined ? schema : schemas[schema.$ref.replace('#/components/schemas/', '')]
  const names = new Set([...path, ...query].map(({ name }) => name))
  return {
    path,
    query,
    body: (isJson || contentType.endsWith('urlencoded')) && hasOwnMembers(resolved, names) ? 'members' : 'value',
    bodySchema: schema,
    isBodyRequired: requestBody?.required ?? false,
    ...(isJson ? {} : { contentType }),
  }
}

function bodyOf({ requestBody }: ApiOperation): readonly [contentType?: string, schema?: Schema] {
  const content = requestBody?.content ?? {}
  const type = 'application/json' in content ? 'application/json' : Object.keys(content)[0]
  return type === undefined ? [] : [type, content[type]?.schema ?? {}]
}

/** Whether a body is an object whose members can stand beside parameters: none has the name of one. */
function hasOwnMembers(schema: Schema | undefined, names: ReadonlySet<string>): boolean {
  if (schema?.type !== 'object' || schema.properties === undefined || schema.patternProperties) return false
  if (schema.additionalProperties && names.size > 0) return false
  return Object.keys(schema.properties).every((name) => !names.has(name) && name !== 'body')
}
