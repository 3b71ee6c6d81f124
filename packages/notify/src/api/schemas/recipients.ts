import { IfMatchHeaders, pageMembers, pageSchema } from '@gatehouse/kit'
import { Type } from 'typebox'
import { RecipientRecord, RecipientSettings } from '../../catalog/declaration.ts'
import { describeOperation } from '../../request/route-options.ts'
import { NoContent, UserId } from '../../request/schemas.ts'

/** The parameters of `/v1/recipients/{user_id}`. */
export const RecipientParams = Type.Object({ user_id: UserId })

const Entry = Type.Object({ user_id: UserId, ...RecipientSettings.properties }, { additionalProperties: false })

/** The body of PUT /v1/recipients. */
export const RecipientList = Type.Object(
  { recipients: Type.Array(Entry, { maxItems: 1_000 }) },
  { additionalProperties: false },
)

/** The body of POST /v1/recipients/search. */
export const RecipientQuery = Type.Object(
  {
    email: Type.Optional(Type.String({ minLength: 3, maxLength: 254, description: 'The whole address.' })),
    phone_number: Type.Optional(
      Type.String({ minLength: 4, maxLength: 40, description: 'The whole number, as E.164.' }),
    ),
    q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'The beginning of the user id.' })),
    ...pageMembers(),
  },
  { additionalProperties: false },
)

/** The fields that may be revealed. */
export const revealable = ['email', 'phone_number'] as const

/** The body of POST /v1/recipients/{user_id}/reveal. */
export const RevealRequest = Type.Object(
  {
    fields: Type.Array(Type.Enum([...revealable]), { minItems: 1, uniqueItems: true }),
    reason: Type.String({ minLength: 3, maxLength: 500, examples: ['ticket 4711: mails do not arrive'] }),
  },
  { additionalProperties: false },
)

const RevealedRecipient = Type.Object(
  { user_id: Type.String(), email: Type.Optional(Type.String()), phone_number: Type.Optional(Type.String()) },
  { title: 'RevealedRecipient' },
)

/** GET /v1/recipients/{user_id} */
export const getRecipient = describeOperation('recipients.get', {
  params: RecipientParams,
  response: { 200: RecipientRecord },
})

/** PUT /v1/recipients/{user_id} */
export const updateRecipient = describeOperation('recipients.update', {
  params: RecipientParams,
  headers: IfMatchHeaders,
  body: RecipientSettings,
  response: { 200: RecipientRecord },
})

/** DELETE /v1/recipients/{user_id} */
export const deleteRecipient = describeOperation('recipients.delete', {
  params: RecipientParams,
  response: { 204: NoContent },
})

/** PUT /v1/recipients */
export const updateRecipients = describeOperation('recipients.updateMany', {
  body: RecipientList,
  response: { 200: Type.Object({ stored: Type.Integer() }) },
})

/** POST /v1/recipients/search */
export const searchRecipients = describeOperation('recipients.search', {
  body: RecipientQuery,
  response: { 200: pageSchema(RecipientRecord) },
})

/** POST /v1/recipients/{user_id}/reveal */
export const revealRecipient = describeOperation('recipients.reveal', {
  params: RecipientParams,
  body: RevealRequest,
  response: { 200: RevealedRecipient },
})
