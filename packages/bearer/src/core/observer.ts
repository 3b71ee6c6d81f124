/** What an operator may want to count or be woken by. Every member may be left out; none may throw. */
export interface BearerObserver {
  /** The issuer's keys were read; `changed` when they are not what they were. */
  keysLoaded?(loaded: { readonly changed: boolean }): void
  /** Reading the keys failed; `staleMs` is the age of those in use, undefined when there are none. */
  keysFailed?(failed: { readonly cause: unknown; readonly staleMs: number | undefined }): void
  /** The revocation feed was read to its end. */
  revocationsRead?(read: { readonly count: number }): void
  /** Alarm: the revocation feed cannot be read; requests go on. `staleMs` since it last could, or since the start. */
  revocationsFailed?(failed: { readonly cause: unknown; readonly staleMs: number }): void
  /** The token was remembered, or had to be verified. */
  tokenChecked?(seen: { readonly cached: boolean }): void
}
