export interface Consent {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly grantedAt: number
}

export interface Consents {
  find(userId: string, clientId: string): Promise<Consent | undefined>
  ofUser(userId: string): Promise<Consent[]>
  /** Adds to what the user allowed the client before. False when the session in which it was allowed has ended. */
  add(userId: string, sessionId: string, consent: Consent): Promise<boolean>
}
