export interface RevocationTimes {
  readonly now: number
  /** When nothing that was issued before can be valid any more: the feed forgets it then. */
  readonly expiresAt: number
}

/**
 * One thing that the revocation feed tells. `before` is in Unix seconds: tokens issued earlier are refused. `key` is the
 * `kid` of a signing key: whatever it signed is refused.
 */
export type Revocation =
  | { readonly grant: string }
  | { readonly subject: string; readonly before: number }
  | { readonly client: string; readonly before: number }
  | { readonly key: string }

export interface Revocations {
  after(position: number, most: number, now: number): Promise<{ revocations: Revocation[]; next: number }>
  add(revocation: Revocation, end: RevocationTimes): Promise<void>
  /** Whether a token of this grant, subject and client, issued then (Unix seconds), is revoked. */
  hits(token: { grantId: string; subject: string; clientId: string; issuedAt: number }): Promise<boolean>
}
