import type { ErrorCode } from '../errors/gatehouse-error.ts'

/** One request to a server. It names the path before its parameters were filled in, and never a credential. */
export interface RequestEvent {
  /** The operation, such as `notifications.send`; undefined for a call without one. */
  readonly operation: string | undefined
  readonly method: string
  readonly path: string
  /** Counted from 1. */
  readonly attempt: number
}

/** The answer to a request. */
export interface ResponseEvent extends RequestEvent {
  readonly status: number
  readonly durationMs: number
  readonly requestId: string | undefined
}

/** A failed attempt that is followed by another. */
export interface RetryEvent extends RequestEvent {
  readonly code: ErrorCode
  readonly waitMs: number
}

/** Functions that observe a client, for logs and metrics. What they throw is ignored. */
export interface Hooks {
  /** A request is about to be sent. */
  onRequest?(event: RequestEvent): void
  /** An answer has begun. */
  onResponse?(event: ResponseEvent): void
  /** Another attempt is waited for. */
  onRetry?(event: RetryEvent): void
}

/** Calls a hook; an observer that fails changes nothing for what it observes. */
export function report<Event>(hook: ((event: Event) => void) | undefined, event: Event): void {
  try {
    hook?.(event)
  } catch {}
}
