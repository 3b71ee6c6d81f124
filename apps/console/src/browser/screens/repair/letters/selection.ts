import type { InputOf } from '../../../../actions/index.ts'
import type { Filters } from '../../../api/filters.ts'

/** What the address of the dead letters says: how they are grouped, which ones, and the replay that is watched. */
export const addressNames = ['by', 'cause', 'provider', 'event', 'fingerprint', 'channel', 'user_id', 'replay'] as const

/** What the address says. */
export type LetterAddress = Filters<(typeof addressNames)[number]>
/** Which dead letters. */
export type LetterSelection = Omit<LetterAddress, 'by' | 'replay'>

/** What dead letters are grouped by. */
export const groupings = ['cause', 'provider', 'event', 'fingerprint'] as const
/** What dead letters are grouped by. */
export type Grouping = (typeof groupings)[number]

/** The grouping that the address names, or the first. */
export function groupingOf({ by }: LetterAddress): Grouping {
  return groupings.find((name) => name === by) ?? 'cause'
}

/** The part of the address that selects letters. */
export function selectionOf({ by: _, replay: __, ...selection }: LetterAddress): LetterSelection {
  return selection
}

/** How many are replayed, discarded or counted at once at most. */
export const maxAtOnce = 10_000

/** A selection as the API takes it. */
export function asInput(selection: LetterSelection): InputOf<'replayDeadLetters'> {
  return selection as InputOf<'replayDeadLetters'>
}
