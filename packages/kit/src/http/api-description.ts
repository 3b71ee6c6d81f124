import { Type } from 'typebox'

/** Problem details (RFC 9457), as the API document describes them. */
export const ProblemBody = Type.Object(
  {
    type: Type.String({ description: 'A URI that identifies the kind of problem.' }),
    title: Type.String({ description: 'The kind of problem, for humans.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The status of the response.' }),
    detail: Type.String({ description: 'What is wrong, for humans.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'Where the fault is: a JSON pointer (RFC 6901).' }),
          detail: Type.String({ description: 'What was expected there.' }),
        }),
        { description: 'Every fault of the request.' },
      ),
    ),
    'violated-policies': Type.Optional(Type.Array(Type.String(), { description: 'The limits that were exceeded.' })),
    etag: Type.Optional(Type.String({ description: 'The current entity tag, where If-Match named another one.' })),
    request_id: Type.Optional(Type.String({ description: 'The id under which the log has the cause.' })),
  },
  { title: 'Problem', description: 'Problem details (RFC 9457).' },
)

/** A problem that only some routes answer, for the `response` of a route's schema. */
export function problemAnswer(description: string) {
  return { description, content: { 'application/problem+json': { schema: ProblemBody } } }
}

/** A page, for the `response` of a route's schema. */
export function htmlAnswer(description: string) {
  return { description, content: { 'text/html': { schema: Type.String() } } }
}

/** A redirect, for the `response` of a route's schema. */
export function redirectAnswer(description: string) {
  return { description, headers: { Location: { type: 'string', description: 'The next address.' } } }
}

/** What an operation is for: a summary in the imperative, and what else its caller should know. */
type Purpose = readonly [summary: string, description: string]

/** What operations are for, by their ids. */
export type Purposes = Readonly<Record<`${string}.${string}`, Purpose>>

/** Describes operations by their ids, and lists the ids. */
export interface OperationTable<Id extends string> {
  (id: Id): { readonly operationId: Id; readonly summary: string; readonly description: string }
  readonly ids: readonly Id[]
}

/**
 * Returns the descriptions of operations by their ids, which generated clients use as the names of calls: nouns as the
 * path nests them, then a verb (`users.sessions.end`). What lists end in `list`.
 */
export function operationsOf<Id extends `${string}.${string}`>(
  purposes: Readonly<Record<Id, Purpose>>,
): OperationTable<Id> {
  const describe = (id: Id) => {
    const [summary, description] = purposes[id]
    return { operationId: id, summary, description }
  }
  return Object.assign(describe, { ids: Object.keys(purposes) as Id[] })
}
