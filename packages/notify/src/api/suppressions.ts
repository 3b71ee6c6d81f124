import { type Clock, createPage, defaultPageSize, instantOf, type PageRequest, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Audit } from '../context/audit.ts'
import { all } from '../model/delivery/suppression.ts'
import { maskAddress } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type { UserParams } from '../request/schemas.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import type { SuppressionFilter, SuppressionRecord, Suppressions } from '../store/store.ts'
import type * as schemas from './schemas/suppressions.ts'
import { type Filter, filterNames } from './schemas/suppressions.ts'
import { refuseAddress } from './suppression-address.ts'
import { formatForCaller, maskSuppression, maskUnknown } from './suppression-view.ts'

/** What the endpoints of suppressions need. */
export interface SuppressionContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Suppressions
  readonly slots: SearchSlots
  readonly clock: Clock
}

type PageQuery = Static<typeof schemas.FilterPage>

/** GET /v1/suppressions: what is not sent where, and why. */
export function listSuppressions(context: SuppressionContext) {
  return (request: FastifyRequest<{ Querystring: PageQuery }>) =>
    readPage(context, request, parseFilter(request.query), request.query)
}

/** POST /v1/suppressions/search: the same, with addresses in the body and not in logs of URLs. */
export function searchSuppressions(context: SuppressionContext) {
  return (request: FastifyRequest<{ Body: PageQuery }>) =>
    readPage(context, request, parseFilter(request.body), request.body)
}

/** GET /v1/users/{id}/suppressions: those of one user. */
export function listUserSuppressions(context: SuppressionContext) {
  return (
    request: FastifyRequest<{
      Params: Static<typeof UserParams>
      Querystring: Static<typeof schemas.UserFilterPage>
    }>,
  ) => readPage(context, request, { ...parseFilter(request.query), userId: request.params.id }, request.query)
}

/** POST /v1/suppressions */
export function addSuppression({ access, audit, store, clock }: SuppressionContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof schemas.NewSuppression> }>, reply: FastifyReply) => {
    const { body } = request
    const { user_id: userId, channel, address = all, scope = all, reason = 'manual', detail, expires_at } = body
    refuseAddress(channel, address)
    const expiresAt = parseExpiry(expires_at, clock.now())
    const rest = { ...(detail === undefined ? {} : { detail }), ...(expiresAt === undefined ? {} : { expiresAt }) }
    await audit(request, {
      action: 'suppressions.add',
      target: { type: 'user', id: userId },
      after: { channel, address: maskAddress(channel, address), scope, reason, detail, expires_at },
    })
    const [added] = await store.add([{ userId, channel, address, scope, reason, ...rest }], clock.now())
    if (!added) throw new Error('a suppression was neither added nor found')
    return reply.code(201).send(formatForCaller(access, request, added))
  }
}

/** DELETE /v1/suppressions: lifts those that the filter matches; by an address for who may read personal data. */
export function liftSuppressions({ access, audit, store, slots }: SuppressionContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof schemas.LiftFilter> }>) => {
    const { dry_run: isDryRun = false, lift_reason: reason, ...query } = request.query
    if (!isDryRun) access.refuseOldSignIn(request)
    const filter = parseFilter(query)
    refuseGuesses(access, request, filter)
    if (Object.keys(filter).length === 0)
      throw new Problem(400, `Say which: at least one of user_id, ${filterNames.join(', ')} is needed.`)
    const found = await slots.run(() => store.count(filter))
    if (isDryRun) return { lifted: 0, ...found }
    if (reason === undefined && found.complaints > 0) throw reasonMissing(`${found.complaints} of them are complaints`)
    const { address, ...rest } = query
    const because = reason === undefined ? {} : { lift_reason: reason }
    const after = { ...rest, ...because, ...(address === undefined ? {} : { address: maskUnknown(address) }) }
    await audit(request, { action: 'suppressions.lift', target: { type: 'suppressions', id: 'selection' }, after })
    // A complaint that came since then is not lifted without a reason either.
    const lifted = await slots.run(() =>
      store.lift({ ...filter, ...(reason === undefined ? { complaints: false } : {}) }),
    )
    return { lifted }
  }
}

/** DELETE /v1/suppressions/{suppression_id} */
export function liftSuppression({ audit, store, clock }: SuppressionContext) {
  return async (
    request: FastifyRequest<{
      Params: Static<typeof schemas.SuppressionParams>
      Querystring: Static<typeof schemas.LiftQuery>
    }>,
    reply: FastifyReply,
  ) => {
    const { suppression_id: id } = request.params
    const { lift_reason: reason } = request.query
    const [found] = await store.list({ ids: [id] }, 1, undefined, clock.now())
    if (found?.reason === 'complained' && reason === undefined) throw reasonMissing('it is a complaint')
    if (found) await auditLift(audit, request, found, reason)
    if (!found || (await store.lift({ ids: [id] })) === 0) throw notFound(id)
    return reply.code(204).send(null)
  }
}

/** DELETE /v1/users/{id}/suppressions/{suppression_id}: users lift what they unsubscribed from, nothing else. */
export function liftUserSuppression({ access, audit, store, clock }: SuppressionContext) {
  return async (
    request: FastifyRequest<{ Params: Static<typeof schemas.UserSuppressionParams> }>,
    reply: FastifyReply,
  ) => {
    const { id: userId, suppression_id: id } = request.params
    access.refuseOldSignIn(request, userId)
    const [found] = await store.list({ userId, ids: [id] }, 1, undefined, clock.now())
    if (!found) throw notFound(id)
    if (found.reason !== 'unsubscribed')
      throw new Problem(
        403,
        `It is there because of: ${found.reason}. The management lifts it, at /v1/suppressions/${id}.`,
      )
    if (access.manages(request, userId)) await auditLift(audit, request, found)
    await store.lift({ userId, ids: [id] })
    return reply.code(204).send(null)
  }
}

async function readPage(
  { access, store, slots, clock }: SuppressionContext,
  request: FastifyRequest,
  filter: SuppressionFilter,
  page: PageRequest,
) {
  refuseGuesses(access, request, filter)
  const limit = page.limit ?? defaultPageSize
  const found = await slots.run(() => store.list(filter, limit, page.cursor, clock.now()))
  const visible = found.map((each) => formatForCaller(access, request, each))
  return createPage(visible, page, ({ id }) => id)
}

/** Whoever sees addresses masked names none: which suppressions there are would confirm it. @throws Problem 403 */
function refuseGuesses(access: AccessControl, request: FastifyRequest, { address, userId }: SuppressionFilter): void {
  if (address !== undefined && address !== all) access.refuseGuesses(request, userId)
}

function parseFilter({ user_id: userId, channel, address, scope, reason }: Static<typeof Filter>): SuppressionFilter {
  return {
    ...(userId === undefined ? {} : { userId }),
    ...(channel === undefined ? {} : { channel }),
    ...(address === undefined ? {} : { address }),
    ...(scope === undefined ? {} : { scope }),
    ...(reason === undefined ? {} : { reason }),
  }
}

function parseExpiry(value: string | undefined, now: number): number | undefined {
  const expiresAt = value === undefined ? undefined : instantOf(value, '/expires_at')
  if (expiresAt !== undefined && expiresAt <= now)
    throw new Problem(400, 'The body is not valid: /expires_at must be in the future.', {
      errors: [{ pointer: '/expires_at', detail: 'must be in the future' }],
    })
  return expiresAt
}

function auditLift(
  audit: Audit,
  request: FastifyRequest,
  found: SuppressionRecord,
  liftReason?: string,
): Promise<void> {
  const { channel, address, scope, reason } = maskSuppression(found)
  const before = { channel, address, scope, reason }
  return audit(request, {
    action: 'suppressions.lift',
    target: { type: 'suppression', id: found.id },
    before,
    ...(liftReason === undefined ? {} : { after: { lift_reason: liftReason } }),
  })
}

/** People complained: whoever writes to them again says why. */
function reasonMissing(why: string): Problem {
  const detail = `is required: ${why}`
  return new Problem(422, `The parameter lift_reason ${detail}.`, { errors: [{ pointer: '/lift_reason', detail }] })
}

function notFound(id: string): Problem {
  return new Problem(404, `There is no suppression ${id}.`)
}
