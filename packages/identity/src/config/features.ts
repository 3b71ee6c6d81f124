import { StartError } from '@gatehouse/kit'

/** What an operator may switch. */
export interface Features {
  /** May people make accounts themselves? Needs mail. Default: false. */
  readonly registration: boolean
  /** May people choose a new password by a mailed link? Needs mail. Default: true where there is mail. */
  readonly passwordReset: boolean
  /** May clients' keys and logout addresses be on this machine, http too? For development. Default: false. */
  readonly loopbackCalls: boolean
}

/** The defaults with `chosen` over them. @throws StartError for what needs mail where there is none */
export function parseFeatures(chosen: Partial<Features> = {}, mail: boolean): Features {
  if (!mail && (chosen.registration || chosen.passwordReset)) {
    throw new StartError(
      'features.registration and features.password_reset need mail: a notification service with the email channel on',
    )
  }
  return { registration: false, passwordReset: mail, loopbackCalls: false, ...chosen }
}
