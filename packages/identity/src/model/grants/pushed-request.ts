import { lifetimeBounds } from './lifetimes.ts'

/** How long a sign-in with a pushed request may take, in milliseconds: twice the longest page, for a change of account. */
export const pushedSignInMs = 2 * lifetimeBounds.interaction[1] * 1000

/** A sign-in that began with a pushed request (RFC 9126), sealed into the pages on the way to its code. */
export interface PushedSignIn {
  /** Of the pushed request. Codes are issued to one session in one sign-in with it. */
  readonly hash: string
  /** Tells the times that the request was opened apart. */
  readonly id: string
  /** Until when a code is issued, in Unix milliseconds: the same for every sign-in with the request. */
  readonly until: number
}
