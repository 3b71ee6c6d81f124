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

/** Four weeks: as long as FCM keeps a message. */
export const maxTtlSeconds = 2_419_200

/** For how long a push waits for its device: a member of every kind that carries push to devices. */
export const ttlSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: maxTtlSeconds,
    description: 'For how long a push waits for a device that is off, in seconds; 0 means now or never.',
    default: maxTtlSeconds,
  }),
)
