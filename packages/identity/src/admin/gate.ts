import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Caller } from '../caller.ts'
import type { Parts } from '../parts.ts'

/** Path parameters of one thing. */
export const byId = Type.Object({ id: Type.String({ maxLength: 256 }) })

const mostListed = 200

export const pageQuery = Type.Object(
  {
    after: Type.Optional(Type.String({ maxLength: 256, description: 'The `next` of the page before.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: mostListed, default: 50 })),
  },
  { additionalProperties: false },
)

/** Lets the caller through for a scope, and writes a change down. */
export interface Gate {
  readonly parts: Parts
  check(request: FastifyRequest, scope: string): Promise<Caller>
  changed(
    request: FastifyRequest,
    caller: Caller,
    action: string,
    about: { readonly subject?: string; readonly clientId?: string },
  ): Promise<void>
}

const done = Type.Null({ description: 'Done.' })

/** What the API document says about a route of management: its `answer`, or that it has none, and the status. */
export function doc(
  summary: string,
  scope: string,
  answer: object = done,
  status: 200 | 201 | 204 = answer === done ? 204 : 200,
): object {
  return { tags: ['management'], summary, security: [{ bearer: [scope] }], response: { [status]: answer } }
}

/** One page of a list, and where the next one begins. */
export function pageOf<Item>(items: readonly Item[], most: number, idOf: (item: Item) => string) {
  const last = items.at(-1)
  return { items, ...(items.length === most && last !== undefined ? { next: idOf(last) } : {}) }
}
