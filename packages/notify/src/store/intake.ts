import type { Admission, AdmissionDecision, AdmissionState } from '../admission/admission.ts'
import type { AdmissionUnit, PlannedNotification } from '../admission/planned.ts'
import type { EventRate } from '../model/notification/event-type.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import type { Profile } from './users.ts'

/** Profiles of users, and the version of the catalog they were read with. */
export interface Profiles {
  readonly users: ReadonlyMap<string, Profile>
  /** Changes whenever an event type or a template does. */
  readonly settingsVersion: number
}

/** An event of the topic: it may wait for its turn. */
export interface Parkable {
  /** `stream:sequence`: the same however often it is delivered. */
  readonly key: string
  /** Its place among all messages of the topic. */
  readonly place: number
  readonly request: NotifyRequest
  /** When it was first received, Unix milliseconds. */
  readonly occurredAt: number
}

/** The events of one type that are to be counted against its rate. */
export interface RateRequest {
  readonly event: string
  /** Events whose producers wait for an answer. */
  readonly count: number
  readonly parkable: readonly Parkable[]
  readonly rate: EventRate
}

/** How many events of a type may go on. */
export interface RateGrant {
  readonly granted: number
  /** How many of the parkable, the first of them, may go on; the others are parked. */
  readonly passed: number
  /** When the next window begins, Unix milliseconds. */
  readonly nextAt: number
}

/** The way in, for users of any buckets: one transaction, or one for each bucket where those are on different nodes. */
export interface Intake {
  readonly buckets: number
  /** Buckets are on different nodes: a batch costs by the number of its buckets, and each of them fails by itself. */
  readonly distributed: boolean
  readProfiles(userIds: readonly string[]): Promise<Profiles>
  /**
   * Admits a batch by the rule it is given. A unit whose settled item is gone, or the data that it sends again, results
   * in undefined and changes nothing.
   * Where buckets are distributed, a batch is of one bucket, for what failed could not be told from what was admitted.
   *
   * @throws UserErased when a user was erased since the profiles were read; nothing is admitted then
   */
  admit(
    units: readonly AdmissionUnit[],
    admission: Admission<Profiles['users']>,
  ): Promise<ReadonlyArray<readonly AdmissionDecision[] | undefined>>
  /** What `decide` needs to know for a notification, as it stands, without a promise that it still does in a moment. */
  readAdmissionState(notification: PlannedNotification): Promise<AdmissionState>
  /**
   * Takes from each event type's rate for those whose producers wait, then for the parkable, unless others of their type
   * are parked already in a bucket of theirs; parks the rest. Says how many may go on and when the next may come.
   */
  acquireRates(requests: readonly RateRequest[], now: number): Promise<ReadonlyMap<string, RateGrant>>
}
