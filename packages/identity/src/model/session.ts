/** A browser with a signed-in user. Times are Unix milliseconds. */
export interface Session {
  /** Public: the claim sid. The cookie's value is another. */
  readonly id: string
  readonly userId: string
  readonly authTime: number
  readonly amr: readonly string[]
  /** Whether a remembered device stood in for the second factor. */
  readonly remembered: boolean
  readonly userAgent: string
  readonly address: string
  readonly createdAt: number
  readonly seenAt: number
  readonly expiresAt: number
}
