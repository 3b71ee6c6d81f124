import type { StreamedEvent } from '../topic.ts'

/** State changes on their way to the stream of events. */
export interface Outbox {
  claim(bucket: number, limit: number, leaseMs: number): Promise<readonly StreamedEvent[]>
  /** Gives claimed ones back, to be claimed again at once. */
  release(bucket: number, ids: readonly string[]): Promise<void>
  remove(bucket: number, ids: readonly string[]): Promise<void>
}
