import { Type } from 'typebox'
import { idPattern } from '../model/id.ts'

/** The id of a user, as the application names it. */
export const UserId = Type.String({ minLength: 1, maxLength: 256, description: 'The user.' })

/** The parameters of `/v1/users/{id}/…`. */
export const UserParams = Type.Object({ id: UserId })

/** An id that this API issued. */
export const Id = Type.String({ pattern: idPattern, description: 'A UUID that this API issued.' })

/** The cursor of a list whose items have ids that follow time, the newest first. */
export const IdCursor = Type.String({ pattern: idPattern, description: 'The `next` of the previous page.' })

/** The body of a response without one. */
export const NoContent = Type.Null()
