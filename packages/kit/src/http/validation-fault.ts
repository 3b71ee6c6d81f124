import type { ErrorObject } from 'ajv'
import type { Fault } from '../problem.ts'
import { maxJsonDepth } from '../text/clean-text.ts'
import { emailAddressExpected } from '../text/email-address.ts'
import { instantExpected } from '../text/instant.ts'
import { findSimilarName } from '../text/similar-name.ts'

/** The names of the parts of a request in error texts. */
const parts: Readonly<Record<string, string>> = { params: 'path', querystring: 'query' }

/** The name of a part of the request: `params` is the path, `querystring` the query. */
export function partOf(context: string | undefined): string {
  return parts[context ?? ''] ?? context ?? 'request'
}

const formats: Readonly<Record<string, string>> = {
  'date-time': instantExpected,
  date: 'must be a date such as 2026-12-31',
  email: emailAddressExpected,
  uri: 'must be an absolute URI',
  uuid: 'must be a UUID',
}

const types: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  integer: 'an integer',
  null: 'null',
  number: 'a number',
  object: 'an object',
  string: 'a string',
}

/** What a value beyond a bound must be or have. */
const bounds: Readonly<Record<string, [expected: string, unit?: string]>> = {
  minimum: ['be at least'],
  maximum: ['be at most'],
  exclusiveMinimum: ['be more than'],
  exclusiveMaximum: ['be less than'],
  minLength: ['have at least', 'character'],
  maxLength: ['have at most', 'character'],
  minItems: ['have at least', 'item'],
  maxItems: ['have at most', 'item'],
  minProperties: ['have at least', 'member'],
  maxProperties: ['have at most', 'member'],
}

/** What a validator says of a value, in the form of Ajv and of TypeBox. */
type SchemaError = Pick<ErrorObject, 'instancePath' | 'keyword' | 'params' | 'message' | 'parentSchema'>

/** What is wrong, and where: as JSON Pointer and in words that need no knowledge of the schema. */
export function validationFault({ instancePath, keyword, params, message, parentSchema }: SchemaError): Fault {
  const pointer = instancePath || '/'
  if (keyword === 'required') return { pointer: `${instancePath}/${params.missingProperty}`, detail: 'is required' }
  if (keyword === 'additionalProperties')
    return unknownMember(instancePath, params.additionalProperty, Object.keys(parentSchema?.properties ?? {}))
  if (keyword === 'enum') return { pointer, detail: `must be one of ${params.allowedValues.join(', ')}` }
  if (keyword === 'format') return { pointer, detail: formats[params.format] ?? message ?? 'is not valid' }
  if (keyword === 'pattern') return { pointer, detail: expectedForm(parentSchema) }
  if (keyword === 'const') return { pointer, detail: `must be ${params.allowedValue}` }
  if (keyword === 'type') return { pointer, detail: `must be ${typeInWords(params.type)}` }
  if (keyword === 'uniqueItems')
    return { pointer, detail: `must not repeat an item: ${params.i} and ${params.j} are the same` }
  return { pointer, detail: boundInWords(keyword, params.limit) ?? message ?? 'is not valid' }
}

function unknownMember(instancePath: string, name: string, known: readonly string[]): Fault {
  return { pointer: `${instancePath}/${name}`, detail: `is not a known member${suggestionFor(name, known)}` }
}

/** A question that names what may have been meant by an unknown name; empty where nothing is similar. */
export function suggestionFor(name: string, known: readonly string[]): string {
  const similar = findSimilarName(name, known)
  return similar === undefined ? '' : `; did you mean ${similar}?`
}

function typeInWords(type: string | readonly string[]): string {
  return [type]
    .flat()
    .map((each) => types[each] ?? each)
    .join(' or ')
}

function boundInWords(keyword: string, limit: number): string | undefined {
  const [expected, unit] = bounds[keyword] ?? []
  if (expected === undefined) return undefined
  if (unit === undefined) return `must ${expected} ${limit}`
  return `must ${expected} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

/** The description of a schema, which explains its pattern. */
function expectedForm(schema: ErrorObject['parentSchema']): string {
  const { description, examples } = schema ?? {}
  const words = typeof description === 'string' ? `: ${description.replace(/\.$/, '')}` : ''
  const example = Array.isArray(examples) && typeof examples[0] === 'string' ? `, such as ${examples[0]}` : ''
  return `does not have the form that is expected here${words}${example}`
}

/** The member that would reach an object's prototype, which JSON.parse makes an own one. */
export function prototypeMember(value: unknown, pointer = '', depth = 0): string | undefined {
  if (value === null || typeof value !== 'object' || depth > maxJsonDepth) return undefined
  for (const [name, item] of Object.entries(value)) {
    const here = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (name === '__proto__') return here
    if (name === 'constructor' && item !== null && typeof item === 'object' && Object.hasOwn(item, 'prototype'))
      return here
    const within = prototypeMember(item, here, depth + 1)
    if (within !== undefined) return within
  }
  return undefined
}
