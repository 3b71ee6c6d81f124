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

const answers = {
  200: Type.Unknown({ description: 'What was asked for.' }),
  201: Type.Unknown({ description: 'What was made.' }),
  204: Type.Null({ description: 'Done.' }),
} as const

/** What the API document says about a route of management, and which status it answers with. */
export function doc(summary: string, scope: string, status: keyof typeof answers = 200): object {
  return { tags: ['management'], summary, security: [{ bearer: [scope] }], response: { [status]: answers[status] } }
}

/** One page of a list, and where the next one begins. */
export function pageOf<Item>(items: readonly Item[], most: number, idOf: (item: Item) => string) {
  const last = items.at(-1)
  return { items, ...(items.length === most && last !== undefined ? { next: idOf(last) } : {}) }
}
