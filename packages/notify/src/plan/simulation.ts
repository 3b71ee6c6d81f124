import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import type { Profile } from '../store/store.ts'
import { actorOf } from './actor.ts'
import { isCombined } from './aggregate-data.ts'
import { expiryOf } from './channel-plan.ts'
import { deferredUntil } from './channels.ts'

/** An event of a simulation. */
export interface SimulatedEvent {
  /** Unix milliseconds. */
  readonly at: number
  readonly userId: string
  readonly data: Data
}

/** A message that events would lead to. */
export interface SimulatedMessage {
  /** When it is sent, or expires, Unix milliseconds. */
  readonly at: number
  readonly userId: string
  readonly sentAs: 'individual' | 'combined'
  /** The numbers of its events, from 0, in the order of time. */
  readonly events: readonly number[]
  /** Distinct people who did it; an event without one counts as somebody of its own. */
  readonly actors: number
  /** The end of the window that gathered its events. */
  readonly gatheredUntil?: number
  /** The end of the quiet hours that it waited for. */
  readonly quietUntil?: number
  /** Whether it came too late to be sent. */
  readonly isExpired: boolean
}

/** The surroundings of a simulation. */
export interface SimulationOptions {
  /** The zone of everybody. */
  readonly zone: string
  readonly aggregationDelayMs: number
}

/**
 * Takes events through gathering, expiry and quiet hours, as they follow one another when notifications are sent. Caps,
 * duplicates and the rate of the event type are left out: they depend on what else reaches a user. What waited for the
 * end of quiet hours is sent at once then, where sending spreads it over the minutes after.
 * @returns the messages in the order of time
 */
export function simulateEvents(
  events: readonly SimulatedEvent[],
  eventType: EventType,
  profile: Profile,
  options: SimulationOptions,
): SimulatedMessage[] {
  const timed = events.map((event, number) => ({ ...event, number })).toSorted((one, other) => one.at - other.at)
  return [...Map.groupBy(timed, ({ userId }) => userId).values()]
    .flatMap((ofUser) => (eventType.aggregation ? gather(ofUser, eventType, options) : ofUser.map(sendAlone)))
    .map((message) => send(message, eventType, profile, options.zone))
    .toSorted((one, other) => one.at - other.at)
}

type TimedEvent = SimulatedEvent & { readonly number: number }

/** What is sent as one. */
interface PlannedMessage {
  /** From when on, Unix milliseconds. */
  readonly at: number
  readonly sentAs: 'individual' | 'combined'
  readonly events: readonly TimedEvent[]
  readonly gatheredUntil?: number
}

function sendAlone(event: TimedEvent): PlannedMessage {
  return { at: event.at, sentAs: 'individual', events: [event] }
}

/** A window opens with an event and takes what comes until its end. */
function gather(
  events: readonly TimedEvent[],
  eventType: EventType,
  { aggregationDelayMs }: SimulationOptions,
): PlannedMessage[] {
  const messages: PlannedMessage[] = []
  for (let rest = events; rest[0]; ) {
    const flushAt = rest[0].at + aggregationDelayMs
    const next = rest.findIndex(({ at }) => at >= flushAt)
    messages.push(...flush(next < 0 ? rest : rest.slice(0, next), flushAt, eventType))
    rest = next < 0 ? [] : rest.slice(next)
  }
  return messages
}

/** What has expired leaves first, and counts for nothing; more than the threshold of the others leave as one. */
function flush(events: readonly TimedEvent[], at: number, eventType: EventType): PlannedMessage[] {
  const { expired = [], live = [] } = Object.groupBy(events, (event) =>
    expiryOfEvents([event], eventType) <= at ? 'expired' : 'live',
  )
  const combines = eventType.aggregation !== undefined && isCombined(live.length, eventType.aggregation.threshold)
  const alone = (combines ? expired : events).map((event) => ({ ...sendAlone(event), at, gatheredUntil: at }))
  return combines ? [...alone, { at, sentAs: 'combined', events: live, gatheredUntil: at }] : alone
}

function send(message: PlannedMessage, eventType: EventType, profile: Profile, zone: string): SimulatedMessage {
  const { at, sentAs, events, gatheredUntil } = message
  const expiresAt = expiryOfEvents(events, eventType)
  const quietUntil = expiresAt <= at ? undefined : deferredUntil(eventType, profile, zone, at)
  const sentAt = quietUntil ?? at
  return {
    at: Math.min(sentAt, expiresAt),
    userId: events[0]?.userId ?? '',
    sentAs,
    events: events.map(({ number }) => number),
    actors: new Set(events.map((event) => actorIn(event, eventType) ?? event.number)).size,
    ...(gatheredUntil === undefined ? {} : { gatheredUntil }),
    ...(quietUntil === undefined ? {} : { quietUntil }),
    isExpired: expiresAt <= sentAt,
  }
}

/** When the first of them expires; what is combined of them expires with it. */
function expiryOfEvents(events: readonly TimedEvent[], eventType: EventType): number {
  return Math.min(...events.map(({ at }) => expiryOf(eventType, at) ?? Number.POSITIVE_INFINITY))
}

function actorIn({ data }: TimedEvent, { aggregation }: EventType): string | undefined {
  return aggregation && actorOf(data, aggregation.actor)
}
