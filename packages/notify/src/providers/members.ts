import { Type } from 'typebox'

/** How long a call to a provider may take: a member of every kind that calls over HTTP. */
export const timeoutSeconds = Type.Optional(
  Type.Number({
    minimum: 0.1,
    maximum: 20,
    description: 'The longest a call may take, in seconds; what is not answered by then is tried again.',
    default: 10,
  }),
)
