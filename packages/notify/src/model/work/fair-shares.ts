import type { Priority } from '../notification/priority.ts'

/** How often each priority is served, relative to the others, while there is more than can be sent. Above 0. */
export type PriorityWeights = Readonly<Record<Priority, number>>

/** Ours: of 21 deliveries, while there are enough of each, 16 are critical, 4 normal and 1 low. */
export const defaultPriorityWeights: PriorityWeights = { critical: 16, normal: 4, low: 1 }

/** How a priority is to be served next. */
export interface Turn {
  readonly weight: number
  /** Deliveries it is owed (or has had too many of, where negative) from claims that could not be divided evenly. */
  readonly credit: number
  /** Which of its event types goes first, counted on from claim to claim. */
  readonly next: number
}

/** What a claim gave a priority. */
export interface Served {
  readonly count: number
  /** Whether it had anything that was due. */
  readonly isDue: boolean
}

/**
 * The turns after a claim. Who got as much as there was, for want of more, is owed nothing; the others divide the rest by
 * weight, and what they got less, or more, is made up for by the next claims: so each gets its share of any number of
 * claims to within a delivery or two, also where a claim takes fewer than there are priorities.
 */
export function nextTurns(turns: readonly Turn[], served: readonly Served[], limit: number): Turn[] {
  const credits = creditsAfter(turns, served, limit)
  return turns.map(({ weight, next }, index) => ({
    weight,
    credit: credits.get(index) ?? 0,
    next: (next + (served[index]?.count ?? 0)) % 1_000_000_007,
  }))
}

function creditsAfter(turns: readonly Turn[], served: readonly Served[], limit: number): Map<number, number> {
  const countOf = (index: number) => served[index]?.count ?? 0
  const total = (indexes: readonly number[], of: (index: number) => number) =>
    indexes.reduce((sum, index) => sum + of(index), 0)
  let contending = turns.flatMap((_, index) => (served[index]?.isDue ? [index] : []))
  if (total(contending, countOf) < limit) return new Map()
  for (;;) {
    const count = total(contending, countOf)
    const weight = total(contending, (index) => turns[index]?.weight ?? 0)
    const owed = contending.map((index) => {
      const { weight: own, credit } = turns[index] ?? { weight: 0, credit: 0 }
      return { index, left: (count * own) / weight + credit - countOf(index) }
    })
    const wanting = owed.filter(({ left }) => left < maxOwed)
    if (wanting.length === owed.length) {
      const excess = owed.reduce((sum, { left }) => sum + left, 0) / Math.max(1, owed.length)
      return new Map(owed.map(({ index, left }) => [index, left - excess]))
    }
    contending = wanting.map(({ index }) => index)
  }
}

/** Who is owed this many and did not get them had no more. */
const maxOwed = 2
