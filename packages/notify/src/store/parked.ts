import type { EventRate } from '../model/event-type.ts'

/** The first of an event type that waits. */
export interface ParkedHead {
  readonly event: string
  /** Its place in the stream. */
  readonly place: number
}

/** Events of the topic that came over their type's rate, until their turn comes. {@link Intake.takeRates} parks them. */
export interface Parked {
  /** The first of each event type that has some. */
  heads(bucket: number): Promise<readonly ParkedHead[]>
  /** Schedules up to `most` of a type, oldest first, to be fired at once, as far as its rate allows; answers how many. */
  release(bucket: number, event: string, rate: EventRate | undefined, max: number, now: number): Promise<number>
}
