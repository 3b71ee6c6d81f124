import { ApiError } from '@gatehouse/client'

const prefix = 'urn:gatehouse:console:'

/** Nobody is signed in, says the server of the console. */
export class NobodyError extends Error {
  override readonly name = 'NobodyError'
}

/** Whether an error says that the session has ended, or that there is none. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof NobodyError || (error instanceof ApiError && error.problem.type === `${prefix}signed-out`)
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
