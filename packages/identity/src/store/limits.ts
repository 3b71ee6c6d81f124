import type { LimitDocument, LimitOverride, LimitVersion } from '../model/limit-settings.ts'

/** A version that does not exist yet. */
export type NewLimitVersion = Omit<LimitVersion, 'version'>

/** The versions of tiers and policies. */
export interface LimitVersions {
  /** The active version; undefined before the first. */
  current(): Promise<LimitVersion | undefined>
  find(version: number): Promise<LimitVersion | undefined>
  /** Below `before`, the newest first. */
  list(before: number | undefined, limit: number): Promise<LimitVersion[]>
  /** Appends the version after `after` and makes it active, unless another was appended since: then false. */
  append(after: number, version: NewLimitVersion): Promise<boolean>
  /**
   * Remembers the file and appends the version that `merge` makes of it, in one step; one caller at a time.
   * @param merge the current version and the file as it was remembered; it returns undefined to append nothing
   */
  applyFile(
    file: LimitDocument,
    merge: (current: LimitVersion | undefined, before: LimitDocument | undefined) => NewLimitVersion | undefined,
  ): Promise<void>
}

/** The limits of single callers. */
export interface LimitOverrides {
  /** Creates or replaces one; false when there are too many. */
  put(override: LimitOverride, now: number): Promise<boolean>
  find(kind: string, id: string, now: number): Promise<LimitOverride | undefined>
  remove(kind: string, id: string, now: number): Promise<boolean>
  /** Those that have not ended, ordered by kind and id. */
  list(now: number): Promise<LimitOverride[]>
}

/** A process that applies limits. */
export interface LimitGateway {
  readonly id: string
  readonly host: string
  readonly services: readonly string[]
  readonly version: number
  /** Why it does not apply a newer version. */
  readonly fault?: string | undefined
  readonly seenAt: number
  /** The client that reports it; empty for a process that runs identity. */
  readonly reporter: string
}

/** The processes that apply limits. */
export interface LimitGateways {
  /**
   * Stores what a process reports. False when another reporter has reported it since `liveSince`, or this one has as many
   * as it may.
   */
  report(gateway: LimitGateway, liveSince: number): Promise<boolean>
  list(seenSince: number): Promise<LimitGateway[]>
}
