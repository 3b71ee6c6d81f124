import type { PlannedNotification } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import type { Profile } from '../store/store.ts'

/** What a notification is planned from. */
export interface PlanInput {
  readonly id: string
  readonly request: NotifyRequest
  readonly eventType: EventType
  readonly profile: Profile
  readonly catalog: Catalog
  readonly now: number
  /** When the event was first received, where that was earlier: on the topic, scheduled or parked. Unix milliseconds. */
  readonly occurredAt?: number
  /** How it came in, for the timeline: `http`, `topic`, `bulk`, `schedule`, `process`, `resend`. */
  readonly source: string
  /** The notification that it sends again. */
  readonly resendOf?: string
}

/** The steps before admission, as the entrances are handed them. */
export type Plan = (input: PlanInput) => PlannedNotification
