import type { Access } from '../consent.ts'

export interface Consent extends Access {
  readonly clientId: string
  readonly grantedAt: number
}

export interface Consents {
  /** What the user allowed the client, page by page. */
  find(userId: string, clientId: string): Promise<Consent[]>
  /** What the user allowed each client, taken together. */
  ofUser(userId: string): Promise<Consent[]>
  /**
   * Remembers what a page named and the user allowed; it takes the place of pages that named less. False when the session
   * in which it was allowed has ended.
   */
  add(userId: string, sessionId: string, consent: Consent): Promise<boolean>
}
