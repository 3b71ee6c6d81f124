import type { Channel } from '../model/channel.ts'
import type { Suppression, SuppressionReason } from '../model/suppression.ts'

export interface SuppressionRecord extends Suppression {
  readonly id: string
  readonly userId: string
  readonly since: number
  readonly detail?: string
}

export type NewSuppression = Omit<SuppressionRecord, 'id' | 'since'>

/** Which suppressions; what is left out is any. */
export interface SuppressionFilter {
  readonly ids?: readonly string[]
  readonly userId?: string
  readonly channel?: Channel
  readonly address?: string
  readonly scope?: string
  readonly reason?: SuppressionReason
}

/** Addresses that nothing, or not everything, is sent to. */
export interface Suppressions {
  /** Newest first, `before` an id; those that ended by themselves are left out. */
  list(
    filter: SuppressionFilter,
    limit: number,
    before: string | undefined,
    now: number,
  ): Promise<readonly SuppressionRecord[]>
  /** Adds those that are not there yet; of one that is, the later end counts. Answers each as it now stands. */
  add(entries: readonly NewSuppression[], now: number): Promise<readonly SuppressionRecord[]>
  /** Takes away what the filter names; answers how many. */
  lift(filter: SuppressionFilter): Promise<number>
}
