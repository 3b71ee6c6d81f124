import { instantOf, isZone, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { eventTypeOf } from '../catalog/declaration.ts'
import type { NotifyOptions } from '../config/options.ts'
import { quietRanges } from '../model/delivery/quiet-hours.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import { type SimulatedEvent, type SimulatedMessage, simulateEvents } from '../plan/simulation.ts'
import { allEventTypes } from '../preferences/precedence.ts'
import { emptyProfile, type Profile } from '../store/store.ts'
import type { SimulationBody, SimulationParams } from './schemas/simulation.ts'

const maxSpanMs = 31 * 86_400_000

type SimulationRequest = FastifyRequest<{ Params: Static<typeof SimulationParams>; Body: SimulationBody }>

/**
 * POST /v1/event-types/{event}/simulate: what events would lead to under settings that need not be stored, for users with
 * these quiet hours in each of the zones. Nothing is stored or sent.
 */
export function simulateEventType({ options }: { readonly options: NotifyOptions }) {
  return async ({ params, body }: SimulationRequest) => {
    const eventType = eventTypeOf(params.event, body.settings, options.aggregationThreshold)
    refuseUnknownZones(body.time_zones)
    const events = readEvents(body)
    const preferences = body.quiet_hours ? [{ eventType: allEventTypes, quietHours: body.quiet_hours }] : []
    const profile = { ...emptyProfile, preferences }
    return { zones: body.time_zones.map((zone) => simulateInZone(zone, events, eventType, profile, options)) }
  }
}

function simulateInZone(
  zone: string,
  events: readonly SimulatedEvent[],
  eventType: EventType,
  profile: Profile,
  { aggregationDelayMs }: NotifyOptions,
) {
  const messages = simulateEvents(events, eventType, profile, { zone, aggregationDelayMs })
  const from = Math.min(...events.map(({ at }) => at))
  const to = Math.max(...messages.map(({ at }) => at), ...events.map(({ at }) => at))
  const quiet = profile.preferences[0]?.quietHours
  return {
    time_zone: zone,
    quiet: (quiet ? quietRanges(quiet, zone, from, to) : []).map((range) => ({
      from: formatInstant(range.from),
      until: formatInstant(range.until),
    })),
    messages: messages.map(formatMessage),
  }
}

function formatMessage({ at, isExpired, userId, sentAs, events, actors, gatheredUntil, quietUntil }: SimulatedMessage) {
  return {
    at: formatInstant(at),
    outcome: isExpired ? ('expired' as const) : ('sent' as const),
    user_id: userId,
    sent_as: sentAs,
    events: [...events],
    actors,
    ...(gatheredUntil === undefined ? {} : { gathered_until: formatInstant(gatheredUntil) }),
    ...(quietUntil === undefined ? {} : { quiet_until: formatInstant(quietUntil) }),
  }
}

const formatInstant = (at: number) => new Date(at).toISOString()

function readEvents({ events }: SimulationBody): SimulatedEvent[] {
  const read = events.map(({ at, user_id: userId = 'anybody', data = {} }, index) => ({
    at: instantOf(at, `/events/${index}/at`),
    userId,
    data: data as Data,
  }))
  const times = read.map(({ at }) => at)
  if (Math.max(...times) - Math.min(...times) <= maxSpanMs) return read
  throw refusal('/events', 'lie more than 31 days apart')
}

function refuseUnknownZones(zones: readonly string[]): void {
  const index = zones.findIndex((zone) => !isZone(zone))
  if (index >= 0) throw refusal(`/time_zones/${index}`, `names no time zone: ${zones[index]}`)
}

function refusal(pointer: string, detail: string): Problem {
  return new Problem(422, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}
