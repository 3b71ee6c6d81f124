import type { Retention } from '../config/options.ts'

/** What is known about a user, and for how long anything is. */
export interface Privacy {
  /** Every row about the user, by table. */
  exportUser(userId: string): Promise<Readonly<Record<string, readonly unknown[]>>>
  /** Removes every row about the user; answers how many. */
  eraseUser(userId: string): Promise<number>
  /** Removes a batch of each kind that was kept long enough; answers how many rows. */
  purge(bucket: number, retention: Retention, now: number): Promise<number>
}
