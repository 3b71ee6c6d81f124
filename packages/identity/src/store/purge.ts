export interface Purge {
  /** Removes up to `most` rows of each kind that have ended; answers how many of each went. */
  purge(now: number, auditBefore: number, most: number): Promise<Readonly<Record<string, number>>>
}
