import type { BreakerState } from '@gatehouse/limiter'

/** What an upstream did lately. */
export interface UpstreamFigures {
  readonly calls: number
  /** Calls without an answer. */
  readonly failures: number
  /** Time until the headers of half of the answers had arrived, in milliseconds; undefined without an answer. */
  readonly p50Ms: number | undefined
  readonly p95Ms: number | undefined
  /** The last call without an answer. */
  readonly lastFailure: { readonly at: number; readonly message: string } | undefined
}

/** How an upstream is doing. */
export interface UpstreamState {
  readonly name: string
  readonly url: string
  readonly breaker: BreakerState
  /** Since when the breaker is not closed, in Unix milliseconds. */
  readonly since: number | undefined
  /** How long no request is let through, in milliseconds. */
  readonly waitMs: number
  readonly figures: UpstreamFigures
  /** Connections that are open, requests on them, and requests that wait for one. */
  readonly connections: { readonly open: number; readonly running: number; readonly waiting: number }
}
