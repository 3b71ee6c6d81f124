/** What bounds the live channel. Durations are in milliseconds. */
export interface LiveRules {
  /** Connections of one session at once: a tab that leads, those without Web Locks, and one that is just replaced. */
  readonly maxPerSession: number
  /** Connections of one user at once, in all their sessions, so that nobody takes those of the others. */
  readonly maxPerUser: number
  /** Connections of this process. */
  readonly max: number
  /** Streams from services, of this process. */
  readonly maxFollowed: number
  readonly heartbeatMs: number
  /** From one look at a topic without a stream to the next. */
  readonly pollMs: number
  /** How long a connection lasts at most; the pages open the next one. */
  readonly maxLifeMs: number
}

/** The defaults. */
export const liveRules: LiveRules = {
  maxPerSession: 4,
  maxPerUser: 12,
  max: 200,
  maxFollowed: 400,
  heartbeatMs: 15_000,
  pollMs: 5_000,
  maxLifeMs: 30 * 60_000,
}
