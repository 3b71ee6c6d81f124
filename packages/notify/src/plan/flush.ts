import type { AdmissionUnit, Note, PlannedNotification } from '../admission.ts'
import type { Catalog } from '../catalog.ts'
import type { Channel } from '../channel.ts'
import type { EventType } from '../event-type.ts'
import { newId } from '../ids.ts'
import type { Data, TimelineEntry } from '../notification.ts'
import type { NotifyOptions } from '../options.ts'
import type { ClosedWindow, PendingItem, Profile } from '../store.ts'
import { channelPlanner } from './channel-plan.ts'
import { chooseChannels } from './channels.ts'

export interface FlushInput {
  readonly bucket: number
  readonly window: ClosedWindow
  readonly profile: Profile
  readonly catalog: Catalog
  readonly now: number
}

const mostItems = 100

/**
 * Makes of a pending set what is sent: one combined notification when its distinct actors exceed the threshold, else
 * each item's own. Preferences, quiet hours and (in admission) the cap are looked at now. What settles the window is
 * admitted with it, so it is flushed once.
 */
export function flush(input: FlushInput, options: NotifyOptions): AdmissionUnit {
  const { window, catalog } = input
  const settles = { kind: 'window', id: window.id } as const
  const eventType = catalog.eventTypes.get(window.event)
  if (!eventType) {
    const detail = { reason: 'the event type was removed' }
    const notes = window.items.map(({ notificationId }): Note => ({ notificationId, what: 'excluded', detail }))
    return { settles, notifications: [], notes }
  }
  const threshold = eventType.aggregation?.threshold ?? options.aggregationThreshold
  if (actorsOf(window.items).length <= threshold)
    return { settles, notifications: window.items.map((item) => individual(item, input, eventType, options)) }
  const one = combined(input, eventType, options)
  const notes = window.items.map(
    ({ notificationId }): Note => ({ notificationId, what: 'combined', detail: { into: one.id } }),
  )
  return { settles, notifications: [one], notes }
}

function actorsOf(items: readonly PendingItem[]): string[] {
  return [...new Set(items.map(({ actor }) => actor))]
}

/** What a template of an aggregated event type may name, beside the data of the event itself. */
function variables(items: readonly PendingItem[]): Data {
  const actors = actorsOf(items)
  const times = items.map(({ at }) => at)
  return {
    ...items.at(-1)?.data,
    count: items.length,
    actors,
    actor_count: actors.length,
    others_count: Math.max(0, actors.length - 1),
    items: items.slice(0, mostItems).map(({ data }) => data),
    first_at: new Date(Math.min(...times)).toISOString(),
    last_at: new Date(Math.max(...times)).toISOString(),
  }
}

function individual(
  item: PendingItem,
  input: FlushInput,
  eventType: EventType,
  options: NotifyOptions,
): PlannedNotification {
  const channels = wantedOf(item, input, eventType)
  const left = item.channels.filter((channel) => !channels.includes(channel))
  const planned = plannedFor(item.notificationId, channels, variables([item]), input, eventType, options)
  const excluded = left.map((channel) => ({ channel, plan: { kind: 'exclude', reason: 'preference' } as const }))
  return { ...planned, acceptedAt: item.at, deliveries: [...planned.deliveries, ...excluded], stored: 'notification' }
}

function combined(input: FlushInput, eventType: EventType, options: NotifyOptions): PlannedNotification {
  const { items } = input.window
  const wanted = [...new Set(items.flatMap((item) => wantedOf(item, input, eventType)))]
  return plannedFor(newId(input.bucket), wanted, variables(items), input, eventType, options)
}

/** The channels an item may still take: those its request named, or those the stored preferences of now leave it. */
function wantedOf(item: PendingItem, { profile }: FlushInput, eventType: EventType): readonly Channel[] {
  const chosen = chooseChannels(undefined, eventType, profile)
  const free = item.byRequest || chosen.because === 'event type'
  return free ? item.channels : item.channels.filter((channel) => chosen.channels.includes(channel))
}

function plannedFor(
  id: string,
  channels: readonly Channel[],
  data: Data,
  { window, profile, catalog, now }: FlushInput,
  eventType: EventType,
  options: NotifyOptions,
): PlannedNotification {
  const { userId, event } = window
  const decisions: TimelineEntry[] = [
    {
      at: now,
      what: 'accepted',
      detail: { source: 'aggregation', event, priority: eventType.priority, count: data.count },
    },
  ]
  const plan = channelPlanner({ userId, data, eventType, profile, catalog, now }, options, decisions)
  return {
    id,
    userId,
    event,
    data,
    priority: eventType.priority,
    acceptedAt: now,
    sensitive: eventType.sensitive,
    decisions,
    deliveries: channels.map((channel) => ({ channel, plan: plan(channel) })),
    stored: 'no',
  }
}
