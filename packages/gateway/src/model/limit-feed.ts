/** Another limit for one caller until a time, in place of the tier: a policy by name, or a multiple of the tier. */
export interface LimitOverride {
  readonly kind: string
  readonly id: string
  readonly policy?: string | undefined
  /** Multiplies every limit of the tier, which keeps its counters. */
  readonly factor?: number | undefined
  /** Unix milliseconds. */
  readonly until: number
  /** Who set it, when (Unix milliseconds) and why, for operators. */
  readonly author?: string | undefined
  readonly createdAt?: number | undefined
  readonly reason?: string | undefined
}

/** A client whose requests count by a policy in place of a tier. */
export interface ClientPolicy {
  readonly client: string
  readonly policy: string
}

/** Tiers, policies, overrides and the policies of clients as identity stores them. */
export interface LimitFeed {
  /** The version of the document; 0 where none is stored, so that the file applies. */
  readonly version: number
  /** Sent back with the next read: it tells whether anything changed. */
  readonly etag: string
  /** Checked before it applies. */
  readonly document?: unknown
  readonly overrides: readonly LimitOverride[]
  /** Every client that has a policy. */
  readonly clients: readonly ClientPolicy[]
}

/** Which version this process applies, and why not a newer one. */
export interface LimitReport {
  readonly version: number
  readonly fault?: string | undefined
}

/** Where limits are read, in this process or over HTTP. */
export interface LimitSource {
  /** Undefined when nothing changed since `etag`. Rejects when identity cannot be reached. */
  read(etag: string | undefined): Promise<LimitFeed | undefined>
  /** Says which version applies here. */
  report(report: LimitReport): Promise<void>
}
