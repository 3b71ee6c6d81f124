import type { Clock } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type Counters, isOpen } from '../admission/caps.ts'
import type { Caps, NotifyOptions } from '../config/options.ts'
import { type Channel, channels } from '../model/channel.ts'
import { quietUntil } from '../model/delivery/quiet-hours.ts'
import { suppresses } from '../model/delivery/suppression.ts'
import { targetsOf } from '../plan/message.ts'
import { allEventTypes, preferredChannels, quietHoursFor } from '../preferences/precedence.ts'
import type { UserParams } from '../request/schemas.ts'
import { emptyProfile, type Intake, type Profile, type Standings } from '../store/store.ts'

/** What reading the standing of a user needs. */
export interface StandingContext {
  readonly intake: Pick<Intake, 'readProfiles'>
  readonly standings: Standings
  readonly options: NotifyOptions
  readonly clock: Clock
}

/** Whether a channel reaches a user, or the code of the reason why not. */
export const reachabilities = [
  'reachable',
  'channel_off',
  'preference',
  'no_device',
  'no_email_address',
  'no_phone_number',
  'address_suppressed',
] as const

type Reachability = (typeof reachabilities)[number]

/** GET /v1/users/{id}/standing: what limits what a user gets now, for event types without settings of their own. */
export function getStanding({ intake, standings, options, clock }: StandingContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof UserParams> }>) => {
    const { id } = request.params
    const now = clock.now()
    const [{ users }, { counters, windows }] = await Promise.all([intake.readProfiles([id]), standings.read(id)])
    const profile = users.get(id) ?? emptyProfile
    const quietEnd = quietEndOf(profile, options.zone, now)
    const reach = (channel: Channel) => reachabilityOf(channel, { userId: id, profile, options, now })
    return {
      caps: listCaps(options.caps, counters, options.capWindowMs, now),
      quiet_now: quietEnd !== undefined,
      ...(quietEnd === undefined ? {} : { quiet_until: new Date(quietEnd).toISOString() }),
      open_windows: windows.map(({ event, items, flushAt }) => ({
        event,
        items,
        flush_at: new Date(flushAt).toISOString(),
      })),
      reachable: Object.fromEntries(channels.map((channel) => [channel, reach(channel)])) as Record<
        Channel,
        Reachability
      >,
    }
  }
}

function quietEndOf(profile: Profile, zone: string, now: number): number | undefined {
  const quiet = quietHoursFor(profile, allEventTypes)
  return quiet && quietUntil(quiet, profile.recipient?.zoneinfo ?? zone, now)
}

/** Every cap that counts for somebody, with what of it is used. */
function listCaps(
  { total, channels: ofChannels, priorities }: Caps,
  counters: Counters,
  windowMs: number,
  now: number,
) {
  const limits = [
    ['total', total] as const,
    ...Object.entries(ofChannels).map(([channel, limit]) => [`channel:${channel}`, limit] as const),
    ...Object.entries(priorities).map(([priority, limit]) => [`priority:${priority}`, limit] as const),
  ]
  return limits.map(([cap, limit]) => {
    const counter = counters[cap]
    const counts = isOpen(counter, windowMs, now)
    return {
      cap,
      limit,
      used: counts ? counter.used : 0,
      ...(counts ? { resets_at: new Date(counter.since + windowMs).toISOString() } : {}),
    }
  })
}

interface ReachInput {
  readonly userId: string
  readonly profile: Profile
  readonly options: NotifyOptions
  readonly now: number
}

const withoutAddress: Readonly<Record<Channel, Reachability>> = {
  push: 'no_device',
  email: 'no_email_address',
  sms: 'no_phone_number',
  'in-app': 'reachable',
}

/** The first that stands in the way of a notification that is not critical. */
function reachabilityOf(channel: Channel, { userId, profile, options, now }: ReachInput): Reachability {
  if (options.channelsOff.includes(channel)) return 'channel_off'
  if (preferredChannels(profile, allEventTypes)?.channels.includes(channel) === false) return 'preference'
  const targets = targetsOf(channel, userId, profile)
  if (targets.length === 0) return withoutAddress[channel]
  const about = { channel, event: allEventTypes, critical: false, now }
  const isSuppressed = ({ address }: { readonly address: string }) =>
    profile.suppressions.some((entry) => suppresses(entry, { ...about, address }))
  return targets.every(isSuppressed) ? 'address_suppressed' : 'reachable'
}
