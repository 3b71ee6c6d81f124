/** How long the result of a read is given to all who ask, in milliseconds. */
export const sharedMs = 2_000

/**
 * Shares a read that costs something among all who ask: one is under way at a time, and its result is given for two
 * seconds more. A failure is not kept.
 */
export function shareRead<T>(read: () => Promise<T>, now: () => number = () => performance.now()): () => Promise<T> {
  let shared: { readonly result: Promise<T>; until: number } | undefined
  return () => {
    if (shared !== undefined && shared.until > now()) return shared.result
    const mine = { result: read(), until: Number.POSITIVE_INFINITY }
    shared = mine
    mine.result.then(
      () => {
        mine.until = now() + sharedMs
      },
      () => {
        mine.until = 0
      },
    )
    return mine.result
  }
}
