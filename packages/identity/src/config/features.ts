import { StartError } from '@gatehouse/kit'
import { findPasskeyObstacle } from '../model/factors/relying-party.ts'

/** Features that an operator may enable. */
export interface Features {
  /** Whether users may register. Requires mail. Default: false. */
  readonly registration: boolean
  /** Whether users may reset their password by a mailed link. Requires mail. Default: true where there is mail. */
  readonly passwordReset: boolean
  /** Whether users may sign in with a code or link that is mailed to them. Requires mail. Default: false. */
  readonly emailCode: boolean
  /**
   * Whether the keys and logout URIs of clients may be on this machine, over http too. For development. Default: false.
   */
  readonly loopbackCalls: boolean
  /** Whether users may have passkeys. Default: true where browsers support them, at an https or localhost issuer. */
  readonly passkeys: boolean
}

/** Where features are offered. */
export interface FeatureSurroundings {
  readonly issuer: string
  /** Whether mail can be sent. */
  readonly mail: boolean
}

/**
 * The defaults, overridden by `chosen`.
 * @throws StartError for a feature that requires mail where there is none, and for passkeys at an issuer without them
 */
export function parseFeatures(chosen: Partial<Features> = {}, { issuer, mail }: FeatureSurroundings): Features {
  if (!mail && (chosen.registration || chosen.passwordReset || chosen.emailCode)) {
    throw new StartError(
      'features.registration, features.password_reset and features.email_code need mail: a notification service with the email channel on',
    )
  }
  const obstacle = findPasskeyObstacle(issuer)
  if (chosen.passkeys && obstacle !== undefined) throw new StartError(`features.passkeys: ${obstacle}`)
  const passkeys = obstacle === undefined
  return { registration: false, passwordReset: mail, emailCode: false, loopbackCalls: false, passkeys, ...chosen }
}
