import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { NotifyScopes } from './scopes.ts'

/** Who made a request, once verified. */
export interface Caller {
  readonly subject: string
  readonly clientId?: string
  readonly scopes: ReadonlySet<string>
  /** What the subject is; an API key has its owner's reach. */
  readonly kind: 'user' | 'client'
  /** When the credential ends, Unix milliseconds; an API key may last for ever. */
  readonly expiresAt?: number
}

/** The bearer check, handed in: throws the finished answer (401, or 403 when `scope` is missing). */
export type Authenticate = (request: FastifyRequest, scope: string | undefined) => Promise<Caller> | Caller

/** Calls `end` once the credential of a request is no longer good. Answers how to stop watching. */
export type WatchCredential = (request: FastifyRequest, expiresAt: number | undefined, end: () => void) => () => void

/** The checks that routes ask for, by name. Each throws a finished answer when it fails. */
export interface Guards {
  readonly scopes: NotifyScopes
  readonly write: (request: FastifyRequest) => Promise<void>
  readonly admin: (request: FastifyRequest) => Promise<void>
  /** Reading; the answer says whose notifications the caller may see. */
  readonly read: (request: FastifyRequest) => Promise<(userId: string) => boolean>
  /** Reading under /v1/users/{id}: the answer is who reads. */
  readonly readOf: (request: FastifyRequest) => Promise<Caller>
  /** A route under /v1/users/{id}: the user's own hand, or the management's. */
  readonly own: (request: FastifyRequest) => Promise<void>
}

/** Builds the guards over the bearer check and the table of scopes. */
export function createGuards(authenticate: Authenticate, scopes: NotifyScopes): Guards {
  const needs = (scope: string) => async (request: FastifyRequest) => {
    await authenticate(request, scope)
  }
  const oneOf = async (request: FastifyRequest, enough: readonly string[]) => {
    const caller = await authenticate(request, undefined)
    if (enough.some((scope) => caller.scopes.has(scope))) return caller
    const challenge = `Bearer error="insufficient_scope", scope="${enough[0]}"`
    const detail = `This needs one of the scopes ${enough.join(', ')}.`
    throw new Problem(403, detail, { headers: { 'www-authenticate': challenge } })
  }
  const under = async (request: FastifyRequest, enough: readonly string[]) => {
    const caller = await oneOf(request, enough)
    const { id } = request.params as { id: string }
    if (!seesAll(caller, scopes) && caller.subject !== id) throw notYours()
    return caller
  }
  return {
    scopes,
    write: needs(scopes.write),
    admin: needs(scopes.admin),
    async read(request) {
      const caller = await oneOf(request, [scopes.read, scopes.write, scopes.admin])
      return (userId) => seesAll(caller, scopes) || caller.subject === userId
    },
    readOf: (request) => under(request, [scopes.read, scopes.write, scopes.admin]),
    async own(request) {
      await under(request, [scopes.own, scopes.admin])
    },
  }
}

/** A user without the management's scope has a hand in their own things alone. */
function seesAll({ kind, scopes: held }: Caller, { admin }: NotifyScopes): boolean {
  return held.has(admin) || kind !== 'user'
}

/** 403 for a user who asks for another's. */
function notYours(): Problem {
  return new Problem(403, 'That belongs to another user.')
}
