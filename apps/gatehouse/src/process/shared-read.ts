/** How long the result of a read is given to all who ask unless told otherwise, in milliseconds. */
export const sharedMs = 2_000

/** How {@link shareRead} shares. */
export interface ShareOptions {
  /** How long a result is given to others, in milliseconds; with 0 only to those who asked while it was read. */
  readonly keepMs?: number
  readonly now?: () => number
}

/**
 * Shares a read that costs something among all who ask: one is under way at a time, and its result is given for two
 * seconds more. A failure is not kept.
 */
export function shareRead<T>(read: () => Promise<T>, options: ShareOptions = {}): () => Promise<T> {
  const { keepMs = sharedMs, now = () => performance.now() } = options
  let shared: { readonly result: Promise<T>; until: number } | undefined
  return () => {
    if (shared !== undefined && shared.until > now()) return shared.result
    const mine = { result: read(), until: Number.POSITIVE_INFINITY }
    shared = mine
    mine.result.then(
      () => {
        mine.until = now() + keepMs
      },
      () => {
        mine.until = 0
      },
    )
    return mine.result
  }
}
