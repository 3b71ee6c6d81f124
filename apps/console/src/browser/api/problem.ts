import { ApiError } from '@gatehouse/client'

const prefix = 'urn:gatehouse:console:'

/** Whether an error says that the session has ended. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.problem.type === `${prefix}signed-out`
}

/** Whether an error says that the person must sign in again first. */
export function needsSignIn(error: unknown): boolean {
  return error instanceof ApiError && error.problem.type === `${prefix}sign-in-again`
}

/** The service that did not answer, when the server of the console says so. */
export function unreachableService(error: ApiError): string | undefined {
  const { service } = error.problem
  return typeof service === 'string' ? service : undefined
}
