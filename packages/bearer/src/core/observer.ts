/**
 * Callbacks for metrics and alerts. Every member is optional; none may throw.
 *
 * @example
 * ```ts
 * const observer: BearerObserver = { keysFailed: ({ cause }) => console.error('keys cannot be fetched', cause) }
 * ```
 */
export interface BearerObserver {
  /** The issuer's keys were fetched; `changed` when they differ from the previous ones. */
  keysLoaded?(loaded: { readonly changed: boolean }): void
  /** Fetching the keys failed; `staleMs` is the age of those in use in milliseconds, undefined when there are none. */
  keysFailed?(failed: { readonly cause: unknown; readonly staleMs: number | undefined }): void
  /** The revocation feed was read to its end; `count` entries were read. */
  revocationsRead?(read: { readonly count: number }): void
  /**
   * The revocation feed cannot be read: alert on it. Requests are still accepted. `staleMs` is the time since the last
   * successful read, or since the start, in milliseconds.
   */
  revocationsFailed?(failed: { readonly cause: unknown; readonly staleMs: number }): void
  /** A token was checked; `cached` when it need not be verified again. */
  tokenChecked?(seen: { readonly cached: boolean }): void
}
