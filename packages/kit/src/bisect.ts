/** What bisect does with items that can't be handled together. */
export interface BisectOptions<Item> {
  /** Whether some of the items may be at fault for an error. Other errors concern all of the items alike. */
  readonly isFaultOfItem: (error: unknown) => boolean
  /** Handles the items that failed: one that is at fault, or several that met another error. May throw. */
  readonly onFailure: (error: unknown, items: readonly Item[]) => void
}

/**
 * Handles items together. When that fails by the fault of one of them, they are halved until the one at fault stands
 * alone, so that it does not keep the others from being handled.
 *
 * @throws whatever `onFailure` throws; items that come after are then not handled
 */
export async function bisect<Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<void>,
  options: BisectOptions<Item>,
): Promise<void> {
  try {
    await work(items)
  } catch (error) {
    if (items.length <= 1 || !options.isFaultOfItem(error)) {
      options.onFailure(error, items)
      return
    }
    const middle = Math.ceil(items.length / 2)
    await bisect(items.slice(0, middle), work, options)
    await bisect(items.slice(middle), work, options)
  }
}
