export interface Purge {
  /** Removes up to `most` rows of each kind that have ended; answers how many went. */
  purge(now: number, auditBefore: number, most: number): Promise<number>
}
