import { type Channel, channels } from '../channel.ts'

/** What a worker does in the buckets where there is something to do, by the name of the worker. */
export type WorkKind = `deliver ${Channel}` | 'schedule' | 'resume' | 'release' | 'outbox'

/** Every kind. */
export const workKinds: readonly WorkKind[] = [
  ...channels.map((channel) => `deliver ${channel}` as const),
  'schedule',
  'resume',
  'release',
  'outbox',
]

/** A bucket that has something to do, and from when on (Unix milliseconds). */
export interface DueWork {
  readonly kind: WorkKind
  readonly bucket: number
  readonly dueAt: number
}
