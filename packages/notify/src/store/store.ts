import type { DeadLetters } from './dead-letters.ts'
import type { Declarations } from './declarations.ts'
import type { Deliveries } from './deliveries.ts'
import type { EventTypes } from './event-types.ts'
import type { Inbox } from './inbox.ts'
import type { Intake } from './intake.ts'
import type { Mailbox } from './mailbox.ts'
import type { Notifications } from './notifications.ts'
import type { Parked } from './parked.ts'
import type { Privacy } from './privacy.ts'
import type { ProviderHealth } from './provider-health.ts'
import type { Schedule } from './schedule.ts'
import type { ShortLinks } from './short-links.ts'
import type { StateChanges } from './state-changes.ts'
import type { Suppressions } from './suppressions.ts'
import type { Templates } from './templates.ts'
import type { Devices, Preferences, Recipients } from './users.ts'
import type { Waiting } from './waiting.ts'

export type * from './dead-letters.ts'
export type * from './declarations.ts'
export type * from './deliveries.ts'
export type * from './event-types.ts'
export type * from './inbox.ts'
export type * from './intake.ts'
export type * from './mailbox.ts'
export type * from './notifications.ts'
export type * from './parked.ts'
export type * from './privacy.ts'
export type * from './provider-health.ts'
export type * from './schedule.ts'
export type * from './short-links.ts'
export type * from './state-changes.ts'
export type * from './suppressions.ts'
export type * from './templates.ts'
export type * from './users.ts'
export type * from './waiting.ts'

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
