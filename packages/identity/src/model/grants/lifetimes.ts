import { StartError } from '@gatehouse/kit'

/** The lifetimes of tokens, sessions, keys and links, in seconds. */
export interface Lifetimes {
  readonly accessToken: number
  readonly refreshToken: number
  readonly idToken: number
  readonly authorizationCode: number
  readonly deviceCode: number
  readonly pushedRequest: number
  /** How long a login or consent page stays valid. */
  readonly interaction: number
  /** Of a session without activity. */
  readonly session: number
  /** Of a session since the sign-in, whatever its activity. */
  readonly maxSession: number
  /** How long the previous refresh token is answered with its successor. */
  readonly refreshGrace: number
  readonly signingKey: number
  readonly verifyLink: number
  readonly resetLink: number
  readonly signInLink: number
  readonly invitation: number
  /** Of a mailed code. */
  readonly emailCode: number
  readonly auditEvent: number
}

const minute = 60
const day = 86_400

/** The default lifetimes. The specification bounds access tokens to 5 to 60 minutes. */
export const defaultLifetimes: Lifetimes = {
  accessToken: 15 * minute,
  refreshToken: 30 * day,
  idToken: 60 * minute,
  authorizationCode: 60,
  deviceCode: 10 * minute,
  pushedRequest: 60,
  interaction: 30 * minute,
  session: 14 * day,
  maxSession: 90 * day,
  refreshGrace: 10,
  signingKey: 90 * day,
  verifyLink: 2 * day,
  resetLink: 30 * minute,
  signInLink: 15 * minute,
  invitation: 7 * day,
  emailCode: 10 * minute,
  auditEvent: 365 * day,
}

/** Minimum and maximum of each lifetime, in seconds; of access tokens by the specification. */
export const lifetimeBounds: Readonly<Record<keyof Lifetimes, readonly [number, number]>> = {
  accessToken: [5 * minute, 60 * minute],
  refreshToken: [day, 90 * day],
  idToken: [minute, day],
  authorizationCode: [10, 10 * minute],
  deviceCode: [minute, 30 * minute],
  pushedRequest: [5, 90],
  interaction: [minute, 60 * minute],
  session: [5 * minute, 90 * day],
  maxSession: [5 * minute, 365 * day],
  refreshGrace: [0, 60],
  signingKey: [day, 365 * day],
  verifyLink: [10 * minute, 7 * day],
  resetLink: [5 * minute, day],
  signInLink: [5 * minute, 60 * minute],
  invitation: [60 * minute, 30 * day],
  emailCode: [minute, 10 * minute],
  auditEvent: [day, 3650 * day],
}

/**
 * The defaults, overridden by `chosen`.
 * @throws StartError naming every lifetime out of bounds and the bounds
 */
export function parseLifetimes(chosen: Partial<Lifetimes> = {}): Lifetimes {
  const lifetimes = { ...defaultLifetimes, ...chosen }
  const faults = (Object.keys(lifetimeBounds) as (keyof Lifetimes)[]).flatMap((name) =>
    checkLifetime(name, lifetimes[name]),
  )
  if (faults.length > 0) throw new StartError(faults.join('; '))
  return lifetimes
}

/** The fault of a lifetime, as a list of one, or none. */
function checkLifetime(name: keyof Lifetimes, seconds: number): string[] {
  const [min, max] = lifetimeBounds[name]
  if (Number.isInteger(seconds) && seconds >= min && seconds <= max) return []
  return [`lifetime ${name} must be a whole number of seconds from ${min} to ${max}, not ${seconds}`]
}
