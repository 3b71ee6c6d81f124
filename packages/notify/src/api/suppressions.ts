import { type Clock, emailAddressExpected, type Http, instantOf, isEmailAddress, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { phoneNumberPattern } from '../config/declaration.ts'
import type { Audit } from '../context/audit.ts'
import { channels } from '../model/channel.ts'
import { idPattern } from '../model/id.ts'
import { maskAddress } from '../model/masking.ts'
import { all, suppressionReasons } from '../model/suppression.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Access } from '../request/scopes.ts'
import type { SuppressionFilter, SuppressionRecord, Suppressions } from '../store/store.ts'
import { formatForCaller, maskSuppression, maskUnknown } from './suppression-view.ts'

const Id = Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' })
const Before = Type.String({ pattern: idPattern, description: 'The `next` of the previous page.' })
const UserId = Type.String({ minLength: 1, maxLength: 256, description: 'The user.' })
const Address = Type.String({ minLength: 1, maxLength: 1_024, description: "The address, or * for any of the user's" })
const Scope = Type.String({ minLength: 1, maxLength: 200, description: 'An event type, or * for all' })
const ChannelName = Type.Enum([...channels], { description: 'The channel.' })
const Reason = Type.Enum([...suppressionReasons], { description: 'Why nothing is sent.' })

const SuppressionBody = Type.Object(
  {
    id: Type.String(),
    user_id: Type.String(),
    channel: Type.String(),
    address: Type.String(),
    scope: Type.String(),
    reason: Type.String(),
    detail: Type.Optional(Type.String()),
    since: Type.String({ format: 'date-time' }),
    expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { title: 'Suppression' },
)

const filters = {
  channel: Type.Optional(ChannelName),
  address: Type.Optional(Address),
  scope: Type.Optional(Scope),
  reason: Type.Optional(Reason),
}

const List = Type.Object({ suppressions: Type.Array(SuppressionBody), next: Type.Optional(Type.String()) })
const page = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1_000, default: 100, description: 'The most items of a page.' }),
  ),
  before: Type.Optional(Before),
}

interface SuppressionRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Suppressions
  readonly clock: Clock
}

/** /v1/suppressions and those of one user: what is not sent where, and why; adding and lifting. */
export function suppressionEndpoints(http: Http, routes: SuppressionRoutes): void {
  managementEndpoints(http, routes)
  ownEndpoints(http, routes)
}

function managementEndpoints(http: Http, routes: SuppressionRoutes): void {
  const { access, audit, store, clock } = routes
  const about = (id: OperationId, required: Access = 'manage') => ({
    tags: ['suppressions'],
    ...operation(id),
    security: access.security(required),
  })
  const Filter = Type.Object({ user_id: Type.Optional(UserId), ...filters }, { additionalProperties: false })

  http.get(
    '/v1/suppressions',
    {
      onRequest: access.allow('readSettings'),
      schema: {
        ...about('suppressions.list', 'readSettings'),
        querystring: Type.Object({ ...Filter.properties, ...page }, { additionalProperties: false }),
        response: { 200: List },
      },
    },
    (request) => listSuppressions(routes, request, filterOf(request.query), request.query),
  )
  http.post(
    '/v1/suppressions/search',
    {
      onRequest: access.allow('readSettings'),
      schema: {
        ...about('suppressions.search', 'readSettings'),
        body: Type.Object({ ...Filter.properties, ...page }, { additionalProperties: false }),
        response: { 200: List },
      },
    },
    (request) => listSuppressions(routes, request, filterOf(request.body), request.body),
  )
  http.post(
    '/v1/suppressions',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('suppressions.create'),
        body: Type.Object(
          {
            user_id: UserId,
            channel: ChannelName,
            address: Type.Optional(Address),
            scope: Type.Optional(Scope),
            reason: Type.Optional(Reason),
            detail: Type.Optional(Type.String({ maxLength: 500 })),
            expires_at: Type.Optional(Type.String({ format: 'date-time' })),
          },
          { additionalProperties: false },
        ),
        response: { 201: SuppressionBody },
      },
    },
    async (request, reply) => {
      const { body } = request
      const { user_id: userId, channel, address = all, scope = all, reason = 'manual', detail, expires_at } = body
      refuseAddress(channel, address)
      const expiresAt = expires_at === undefined ? undefined : instantOf(expires_at, '/expires_at')
      if (expiresAt !== undefined && expiresAt <= clock.now())
        throw new Problem(400, 'The body is not valid: /expires_at must be in the future.', {
          errors: [{ pointer: '/expires_at', detail: 'must be in the future' }],
        })
      const rest = { ...(detail === undefined ? {} : { detail }), ...(expiresAt === undefined ? {} : { expiresAt }) }
      await audit(request, {
        action: 'suppressions.add',
        target: { type: 'user', id: userId },
        after: { channel, address: maskAddress(channel, address), scope, reason, detail, expires_at },
      })
      const [added] = await store.add([{ userId, channel, address, scope, reason, ...rest }], clock.now())
      if (!added) throw new Error('a suppression was neither added nor there')
      return reply.code(201).send(formatForCaller(access, request, added))
    },
  )
  http.delete(
    '/v1/suppressions',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('suppressions.liftMany'),
        querystring: Filter,
        response: { 200: Type.Object({ lifted: Type.Integer() }) },
      },
    },
    async (request) => {
      const { query } = request
      const filter = filterOf(query)
      if (Object.keys(filter).length === 0)
        throw new Problem(400, `Say which: at least one of user_id, ${Object.keys(filters).join(', ')} is needed.`)
      const { address, ...rest } = query
      const after = { ...rest, ...(address === undefined ? {} : { address: maskUnknown(address) }) }
      await audit(request, { action: 'suppressions.lift', target: { type: 'suppressions', id: 'selection' }, after })
      return { lifted: await store.lift(filter) }
    },
  )
  http.delete(
    '/v1/suppressions/:suppression_id',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('suppressions.lift'),
        params: Type.Object({ suppression_id: Id }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { suppression_id: id } = request.params
      const [found] = await store.list({ ids: [id] }, 1, undefined, clock.now())
      if (found) await auditLift(audit, request, found)
      if (!found || (await store.lift({ ids: [id] })) === 0) throw missing(id)
      return reply.code(204).send(null)
    },
  )
}

function ownEndpoints(http: Http, routes: SuppressionRoutes): void {
  const { access, audit, store, clock } = routes
  const about = (id: OperationId, required: Access) => ({
    tags: ['suppressions'],
    ...operation(id),
    security: access.security(required),
  })

  http.get(
    '/v1/users/:id/suppressions',
    {
      onRequest: access.allowUnder('readOwn'),
      schema: {
        ...about('userSuppressions.list', 'readOwn'),
        params: Type.Object({ id: UserId }),
        querystring: Type.Object({ ...filters, ...page }, { additionalProperties: false }),
        response: { 200: List },
      },
    },
    (request) =>
      listSuppressions(routes, request, { ...filterOf(request.query), userId: request.params.id }, request.query),
  )
  http.delete(
    '/v1/users/:id/suppressions/:suppression_id',
    {
      onRequest: access.allowUnder('changeOwn'),
      schema: {
        ...about('userSuppressions.lift', 'changeOwn'),
        params: Type.Object({ id: UserId, suppression_id: Id }),
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id: userId, suppression_id: id } = request.params
      const [found] = await store.list({ userId, ids: [id] }, 1, undefined, clock.now())
      if (!found) throw missing(id)
      if (found.reason !== 'unsubscribed')
        throw new Problem(
          403,
          `It is there because of: ${found.reason}. The management lifts it, at /v1/suppressions/${id}.`,
        )
      if (access.manages(request, userId)) await auditLift(audit, request, found)
      await store.lift({ userId, ids: [id] })
      return reply.code(204).send(null)
    },
  )
}

const phoneNumber = new RegExp(phoneNumberPattern)

/** 400 for an address that nothing could be sent to on its channel; what it is compared with is exactly one. */
function refuseAddress(channel: string, address: string): void {
  if (address === all) return
  const faults: Readonly<Record<string, string | false>> = {
    email: !isEmailAddress(address) && emailAddressExpected,
    sms: !phoneNumber.test(address) && 'must be a telephone number such as +14155550100',
  }
  const expected = faults[channel]
  if (!expected) return
  const detail = `${expected}, or ${all} for any of the user's`
  throw new Problem(400, `The body is not valid: /address ${detail}.`, { errors: [{ pointer: '/address', detail }] })
}

type Query = Static<ReturnType<typeof Type.Object<typeof filters>>> & { readonly user_id?: string }

function filterOf({ user_id: userId, channel, address, scope, reason }: Query): SuppressionFilter {
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(channel === undefined ? {} : { channel }),
    ...(address === undefined ? {} : { address }),
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
  }
}

async function listSuppressions(
  { access, store, clock }: SuppressionRoutes,
  request: FastifyRequest,
  filter: SuppressionFilter,
  { limit = 100, before }: { readonly limit?: number; readonly before?: string },
) {
  const { address, userId } = filter
  if (address !== undefined && address !== all) access.refuseGuesses(request, userId)
  const found = await store.list(filter, limit, before, clock.now())
  const last = found.at(-1)
  return {
    suppressions: found.map((each) => formatForCaller(access, request, each)),
    ...(found.length === limit && last ? { next: last.id } : {}),
  }
}

function auditLift(audit: Audit, request: FastifyRequest, found: SuppressionRecord): Promise<void> {
  const { channel, address, scope, reason } = maskSuppression(found)
  const before = { channel, address, scope, reason }
  return audit(request, { action: 'suppressions.lift', target: { type: 'suppression', id: found.id }, before })
}

function missing(id: string): Problem {
  return new Problem(404, `There is no suppression ${id}.`)
}
