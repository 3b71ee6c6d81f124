import type { CallRequest } from '../call/request.ts'
import type { PathParameters, Query } from '../http/address.ts'
import { randomId } from '../http/random-id.ts'
import type { OperationFacts } from './operation-facts.ts'

/** The input of an operation: parameters, and the members of the body or the body. */
export type Input = Readonly<Record<string, unknown>>

/** The request of an operation for an input; one whose key makes it idempotent gets a random key if it has none. */
export function requestOf(operation: string, facts: OperationFacts, input: Input = {}): CallRequest {
  const { method, path, body, query: queryNames, contentType, idempotent, scopes } = facts
  const pathNames = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const rest = omit(input, pathNames)
  const query = body === 'value' ? omit(rest, ['body']) : body === 'members' ? pick(rest, queryNames ?? []) : rest
  const request = {
    operation,
    method,
    path,
    params: pick(input, pathNames) as PathParameters,
    query: query as Query,
    contentType,
    idempotent: idempotent === undefined ? undefined : Boolean(idempotent),
    open: scopes === undefined,
  }
  if (body === undefined) return request
  if (body === 'value') return { ...request, body: input.body }
  const members = omit(rest, queryNames ?? [])
  return { ...request, body: typeof idempotent === 'string' ? withKey(members, idempotent) : members }
}

function withKey(members: Input, name: string): Input {
  return { ...members, [name]: members[name] ?? randomId() }
}

function pick(input: Input, names: readonly string[]): Input {
  return Object.fromEntries(Object.entries(input).filter(([name]) => names.includes(name)))
}

function omit(input: Input, names: readonly string[]): Input {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)))
}
