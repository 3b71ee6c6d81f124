import type { NotifyRequest } from '../model/notification.ts'

export interface Scheduled {
  readonly id: string
  readonly fireAt: number
  readonly payload: NotifyRequest
  /** When it was first received, where its age counts from then and not from when it is due; Unix milliseconds. */
  readonly occurredAt?: number
  /** Where it came from: `schedule`, or `topic` when it was parked. */
  readonly source: string
}

/** Notifications for later. */
export interface Schedule {
  add(fireAt: number, payload: NotifyRequest): Promise<string>
  find(id: string): Promise<Scheduled | undefined>
  list(userId: string): Promise<readonly Scheduled[]>
  /** True for exactly one: the canceller, or whoever fires it. */
  cancel(id: string): Promise<boolean>
  claim(bucket: number, limit: number, leaseMs: number, now: number): Promise<readonly Scheduled[]>
  /** Makes a dead letter of one that can't be fired. */
  moveToDeadLetters(scheduled: Scheduled, cause: string, detail: string, now: number): Promise<void>
  /**
   * Counts a failure of one by its own fault, and makes a dead letter of it at the `maxAttempts`th. True when it is one;
   * until then it comes again when its lease has ended.
   */
  recordFailure(scheduled: Scheduled, maxAttempts: number, reason: string, now: number): Promise<boolean>
}
