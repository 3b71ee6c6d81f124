import type { ErrorObject } from 'ajv'
import type { Fault } from '../problem.ts'
import { maxJsonDepth } from '../text/clean-text.ts'
import { emailAddressExpected } from '../text/email-address.ts'
import { instantExpected } from '../text/instant.ts'

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

/** What is wrong, and where: as JSON Pointer and in words that need no knowledge of the schema. */
export function validationFault({ instancePath, keyword, params, message, parentSchema }: ErrorObject): Fault {
  const pointer = instancePath || '/'
  if (keyword === 'required') return { pointer: `${instancePath}/${params.missingProperty}`, detail: 'is required' }
  if (keyword === 'additionalProperties') return unknownMember(instancePath, params.additionalProperty)
  if (keyword === 'enum') return { pointer, detail: `must be one of ${params.allowedValues.join(', ')}` }
  if (keyword === 'format') return { pointer, detail: formats[params.format] ?? message ?? 'is not valid' }
  if (keyword === 'pattern') return { pointer, detail: expectedForm(parentSchema) }
  if (keyword === 'const') return { pointer, detail: `must be ${params.allowedValue}` }
  return { pointer, detail: message ?? 'is not valid' }
}

function unknownMember(instancePath: string, name: string): Fault {
  return { pointer: `${instancePath}/${name}`, detail: 'is not a known member' }
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
