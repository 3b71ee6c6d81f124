/** A browser in which a user is signed in. Points in time are Unix milliseconds. */
export interface Session {
  /** Public: the claim sid. The cookie's value is another. */
  readonly id: string
  readonly userId: string
  readonly authTime: number
  readonly amr: readonly string[]
  readonly userAgent: string
  readonly address: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}
