import { StartError } from '@gatehouse/kit'

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
}

/** The defaults, overridden by `chosen`. @throws StartError for a feature that requires mail where there is none */
export function parseFeatures(chosen: Partial<Features> = {}, mail: boolean): Features {
  if (!mail && (chosen.registration || chosen.passwordReset || chosen.emailCode)) {
    throw new StartError(
      'features.registration, features.password_reset and features.email_code need mail: a notification service with the email channel on',
    )
  }
  return { registration: false, passwordReset: mail, emailCode: false, loopbackCalls: false, ...chosen }
}
