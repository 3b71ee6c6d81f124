import type { StatStore } from '@gatehouse/kit'
import type { Declarations, EventTypes, ShortLinks, TemplateSamples, Templates } from './catalog.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { Deliveries, ProviderHealth, ProviderPauses } from './delivery.ts'
import type { Inbox, Mailbox } from './inbox.ts'
import type { Intake } from './intake.ts'
import type { HintExchange, Nodes, Ownership, Survey } from './ownership.ts'
import type { ProviderActivityStore, ProviderOrders } from './providers.ts'
import type { Search } from './search.ts'
import type { Notifications, StateChanges } from './timeline.ts'
import type { Devices, Preferences, Privacy, Recipients, Standings, Suppressions } from './users.ts'
import type { Backlog, Parked, Schedule, Waiting } from './waiting.ts'

export type * from './catalog.ts'
export type * from './dead-letters.ts'
export { deadLetterGroupings, trendSpans } from './dead-letters.ts'
export type * from './delivery.ts'
export type * from './inbox.ts'
export type * from './intake.ts'
export type * from './ownership.ts'
export type * from './providers.ts'
export type * from './search.ts'
export type * from './timeline.ts'
export type * from './users.ts'
export { emptyProfile } from './users.ts'
export type * from './waiting.ts'

/** Everything the service stores, by role. A feature asks for its role only. */
export interface NotifyStore {
  readonly intake: Intake
  readonly deliveries: Deliveries
  readonly waiting: Waiting
  readonly schedule: Schedule
  readonly parked: Parked
  readonly backlog: Backlog
  readonly providerHealth: ProviderHealth
  readonly providerPauses: ProviderPauses
  readonly providerOrders: ProviderOrders
  readonly providerActivity: ProviderActivityStore
  readonly survey: Survey
  /** Left out where this is the only process. */
  readonly ownership?: Ownership
  readonly hints?: HintExchange
  /** Left out where buckets are not on different nodes. */
  readonly nodes?: Nodes
  readonly deadLetters: DeadLetters
  readonly stateChanges: StateChanges
  readonly privacy: Privacy
  readonly recipients: Recipients
  readonly preferences: Preferences
  readonly devices: Devices
  readonly shortLinks: ShortLinks
  readonly suppressions: Suppressions
  readonly standings: Standings
  readonly eventTypes: EventTypes
  readonly templates: Templates
  readonly templateSamples: TemplateSamples
  readonly inbox: Inbox
  readonly mailbox: Mailbox
  readonly notifications: Notifications
  readonly search: Search
  readonly declared: Declarations
  /** The history of what was counted. */
  readonly stats: StatStore
  ping(): Promise<void>
}
