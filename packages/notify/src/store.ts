import type { DeadLetters } from './store/dead-letters.ts'
import type { Declarations } from './store/declarations.ts'
import type { Deliveries } from './store/deliveries.ts'
import type { EventTypes } from './store/event-types.ts'
import type { Inbox } from './store/inbox.ts'
import type { Intake } from './store/intake.ts'
import type { Mailbox } from './store/mailbox.ts'
import type { Notifications } from './store/notifications.ts'
import type { Parked } from './store/parked.ts'
import type { Privacy } from './store/privacy.ts'
import type { ProviderHealth } from './store/provider-health.ts'
import type { Schedule } from './store/schedule.ts'
import type { ShortLinks } from './store/short-links.ts'
import type { StateChanges } from './store/state-changes.ts'
import type { Suppressions } from './store/suppressions.ts'
import type { Templates } from './store/templates.ts'
import type { Devices, Preferences, Recipients } from './store/users.ts'
import type { Waiting } from './store/waiting.ts'

export type * from './store/dead-letters.ts'
export type * from './store/declarations.ts'
export type * from './store/deliveries.ts'
export type * from './store/event-types.ts'
export type * from './store/inbox.ts'
export type * from './store/intake.ts'
export type * from './store/mailbox.ts'
export type * from './store/notifications.ts'
export type * from './store/parked.ts'
export type * from './store/privacy.ts'
export type * from './store/provider-health.ts'
export type * from './store/schedule.ts'
export type * from './store/short-links.ts'
export type * from './store/state-changes.ts'
export type * from './store/suppressions.ts'
export type * from './store/templates.ts'
export type * from './store/users.ts'
export type * from './store/waiting.ts'

/** Everything the service stores, by role. A feature asks for its role only. */
export interface NotifyStore {
  readonly intake: Intake
  readonly deliveries: Deliveries
  readonly waiting: Waiting
  readonly schedule: Schedule
  readonly parked: Parked
  readonly providerHealth: ProviderHealth
  readonly deadLetters: DeadLetters
  readonly stateChanges: StateChanges
  readonly privacy: Privacy
  readonly recipients: Recipients
  readonly preferences: Preferences
  readonly devices: Devices
  readonly shortLinks: ShortLinks
  readonly suppressions: Suppressions
  readonly eventTypes: EventTypes
  readonly templates: Templates
  readonly inbox: Inbox
  readonly mailbox: Mailbox
  readonly notifications: Notifications
  readonly declared: Declarations
  ping(): Promise<void>
}
