import type { AdmissionUnit, CapRules, Counters, Decided } from '../admission.ts'
import type { EventRate } from '../event-type.ts'
import type { Profile } from './users.ts'

export interface Profiles {
  readonly users: ReadonlyMap<string, Profile>
  /** Changes whenever an event type or a template does. */
  readonly settingsVersion: number
}

export interface RateAsked {
  readonly event: string
  readonly count: number
  readonly rate: EventRate
}

export interface RateGranted {
  readonly granted: number
  /** When the next window begins, Unix milliseconds. */
  readonly nextAt: number
}

/** The way in. Every call stays within one bucket, and is one transaction. */
export interface Intake {
  readonly buckets: number
  profiles(bucket: number, userIds: readonly string[]): Promise<Profiles>
  /** Admits a batch; a unit whose settled thing was taken by another is answered undefined and changes nothing. */
  admit(
    bucket: number,
    units: readonly AdmissionUnit[],
    rules: CapRules,
    now: number,
  ): Promise<ReadonlyArray<readonly Decided[] | undefined>>
  /** A user's cap counters as they stand, without a promise that they still do in a moment. */
  counters(bucket: number, userId: string): Promise<Counters>
  /** Takes up to `count` events from each event type's rate, and says how many it got and when the next may come. */
  takeRates(asked: readonly RateAsked[], now: number): Promise<ReadonlyMap<string, RateGranted>>
}
