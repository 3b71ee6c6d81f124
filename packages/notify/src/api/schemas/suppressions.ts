import { pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../../model/channel.ts'
import { suppressionReasons } from '../../model/delivery/suppression.ts'
import { describeOperation } from '../../request/route-options.ts'
import { Id, IdCursor, NoContent, UserId, UserParams } from '../../request/schemas.ts'

const Address = Type.String({ minLength: 1, maxLength: 1_024, description: "The address, or * for any of the user's" })
const Scope = Type.String({ minLength: 1, maxLength: 200, description: 'An event type, or * for all' })
const ChannelName = Type.Enum([...channels], { description: 'The channel.' })
const Reason = Type.Enum([...suppressionReasons], { description: 'Why nothing is sent.' })

const Suppression = Type.Object(
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

/** The members that a filter may have, but for the user. */
export const filterNames = Object.keys(filters)

const page = pageMembers(IdCursor)
const list = { 200: pageSchema(Suppression) }

/** A filter over all users. */
export const Filter = Type.Object({ user_id: Type.Optional(UserId), ...filters }, { additionalProperties: false })

/** The same with a page: the query, or body, of the lists. */
export const FilterPage = Type.Object({ ...Filter.properties, ...page }, { additionalProperties: false })

/** The query of GET /v1/users/{id}/suppressions. */
export const UserFilterPage = Type.Object({ ...filters, ...page }, { additionalProperties: false })

/** The body of POST /v1/suppressions. */
export const NewSuppression = Type.Object(
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
)

const LiftReason = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 500,
    description: 'Why it is lifted: required for complaints, and kept in the audit trail.',
  }),
)

/** The query of DELETE /v1/suppressions. */
export const LiftFilter = Type.Object(
  {
    ...Filter.properties,
    lift_reason: LiftReason,
    dry_run: Type.Optional(Type.Boolean({ description: 'Lifts nothing, and answers how many are `matched`.' })),
  },
  { additionalProperties: false },
)

/** The query of DELETE /v1/suppressions/{suppression_id}. */
export const LiftQuery = Type.Object({ lift_reason: LiftReason }, { additionalProperties: false })

/** The parameters of `/v1/suppressions/{suppression_id}`. */
export const SuppressionParams = Type.Object({ suppression_id: Id })

/** The parameters of `/v1/users/{id}/suppressions/{suppression_id}`. */
export const UserSuppressionParams = Type.Object({ id: UserId, suppression_id: Id })

/** GET /v1/suppressions */
export const listSuppressions = describeOperation('suppressions.list', { querystring: FilterPage, response: list })

/** POST /v1/suppressions/search */
export const searchSuppressions = describeOperation('suppressions.search', { body: FilterPage, response: list })

/** POST /v1/suppressions */
export const addSuppression = describeOperation('suppressions.create', {
  body: NewSuppression,
  response: { 201: Suppression },
})

/** DELETE /v1/suppressions */
export const liftSuppressions = describeOperation('suppressions.liftMany', {
  querystring: LiftFilter,
  response: {
    200: Type.Object({
      lifted: Type.Integer(),
      matched: Type.Optional(Type.Integer({ description: 'Of a dry run.' })),
      complaints: Type.Optional(Type.Integer({ description: 'Of a dry run: how many of them are complaints.' })),
    }),
  },
})

/** DELETE /v1/suppressions/{suppression_id} */
export const liftSuppression = describeOperation('suppressions.lift', {
  params: SuppressionParams,
  querystring: LiftQuery,
  response: { 204: NoContent },
})

/** GET /v1/users/{id}/suppressions */
export const listUserSuppressions = describeOperation('users.suppressions.list', {
  params: UserParams,
  querystring: UserFilterPage,
  response: list,
})

/** DELETE /v1/users/{id}/suppressions/{suppression_id} */
export const liftUserSuppression = describeOperation('users.suppressions.lift', {
  params: UserSuppressionParams,
  response: { 204: NoContent },
})
