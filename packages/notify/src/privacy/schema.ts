import { Type } from 'typebox'
import { describeOperation } from '../request/route-options.ts'
import { UserParams } from '../request/schemas.ts'

/** GET /v1/users/{id}/data */
export const exportUser = describeOperation('users.data.export', {
  params: UserParams,
  response: { 200: Type.Object({ user_id: Type.String(), data: Type.Object({}, { additionalProperties: true }) }) },
})

/** DELETE /v1/users/{id}/data */
export const eraseUser = describeOperation('users.data.erase', {
  params: UserParams,
  response: { 200: Type.Object({ removed: Type.Integer() }) },
})
