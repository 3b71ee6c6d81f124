/** What an operator may switch. */
export interface Features {
  /** May people make accounts themselves? Needs mail. Default: false. */
  readonly registration: boolean
  /** May people choose a new password by a mailed link? Needs mail. Default: true where there is mail. */
  readonly passwordReset: boolean
  /** Are clients told of logouts at http:// addresses on this machine? For development. Default: false. */
  readonly loopbackCalls: boolean
}

export const defaultFeatures: Features = { registration: false, passwordReset: true, loopbackCalls: false }
