import { JetStreamApiError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'

/** The settings and what there is in NATS do not go together: it fails however often it is tried. */
export class UnfitSettings extends Error {}

const messageTooLarge = 10_054
const streamOffline = 10_118
const unavailableStatus = 503

/** Whether a stream takes no message of this size, or the server none. */
export function isTooLarge(error: unknown): boolean {
  return (
    error instanceof errors.InvalidArgumentError ||
    (error instanceof JetStreamApiError && error.code === messageTooLarge)
  )
}

/** Whether the server refuses the user. */
export function isUserRefused(error: unknown): boolean {
  if (error instanceof errors.UserAuthenticationExpiredError) return true
  // At a timeout the server has not looked at the password.
  return error instanceof errors.AuthorizationError && !/timeout/i.test(error.message)
}

/** Whether what failed may succeed later, with the same settings. */
export function isTemporary(error: unknown): boolean {
  return !withCauses(error).some(
    (each) => each instanceof UnfitSettings || each instanceof errors.PermissionViolationError || isUserRefused(each),
  )
}

/** Whether nobody answers for a stream: its leader is dead, or it has none. */
export function isAway(error: unknown): boolean {
  return withCauses(error).some(
    (each) =>
      each instanceof errors.TimeoutError ||
      each instanceof errors.NoRespondersError ||
      (each instanceof JetStreamApiError && (each.status === unavailableStatus || each.code === streamOffline)),
  )
}

/** The error with what it is about before its message, unless that says so: of NATS alone it may be `timeout`. */
export function about(what: string, error: unknown): Error {
  const { message } = error as Error
  return message.includes(what) ? (error as Error) : new Error(`${what}: ${message}`, { cause: error })
}

function withCauses(error: unknown): readonly unknown[] {
  return error instanceof Error ? [error, ...withCauses(error.cause)] : []
}
