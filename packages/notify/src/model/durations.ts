/*
 * Durations are counted in slots that grow by a fifth: a percentile is at most that much too high, and a row of the
 * database holds many calls.
 */

const slotsPerDoubling = 4
/** The last slot, for whatever took longer than a minute. */
const lastSlot = 64

/** The slot of a duration in milliseconds. */
export function durationSlot(milliseconds: number): number {
  if (milliseconds <= 1) return 0
  return Math.min(lastSlot, Math.ceil(Math.log2(milliseconds) * slotsPerDoubling))
}

/** The longest duration of a slot, in milliseconds. */
export function slotDurationMs(slot: number): number {
  return Math.round(2 ** (slot / slotsPerDoubling))
}

/**
 * The duration (milliseconds) that `share` of the calls did not exceed, to the end of its slot; undefined without calls.
 *
 * @param share in (0, 1]
 */
export function percentileOf(
  counts: ReadonlyArray<{ readonly slot: number; readonly calls: number }>,
  share: number,
): number | undefined {
  const total = counts.reduce((sum, { calls }) => sum + calls, 0)
  if (total === 0) return undefined
  let seen = 0
  for (const { slot, calls } of counts.toSorted((a, b) => a.slot - b.slot)) {
    seen += calls
    if (seen >= total * share) return slotDurationMs(slot)
  }
  return undefined
}
