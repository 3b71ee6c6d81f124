import type { AdmissionUnit, PlannedNotification } from '../admission/planned.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { NotifyOptions } from '../config/options.ts'
import { type Channel, sortChannels } from '../model/channel.ts'
import { newIdBeside } from '../model/id.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import { createReason } from '../model/notification/reason.ts'
import type { TimelineEntry } from '../model/notification/timeline.ts'
import { aggregateData, individualData, isCombined } from '../plan/aggregate-data.ts'
import { channelPlanner } from '../plan/channel-plan.ts'
import { chooseChannels } from '../plan/channels.ts'
import type { ChosenBy, ClosedWindow, PendingItem, Profile, WindowSummary } from '../store/store.ts'

/** What a pending set is planned from. */
export interface FlushInput {
  readonly bucket: number
  readonly window: ClosedWindow
  readonly profile: Profile
  readonly catalog: Catalog
  readonly now: number
}

/**
 * Makes of a pending set what is sent: one combined notification when its items exceed the threshold, else each item's
 * own, so many at a time. Preferences, quiet hours and (in admission) the cap are looked at now. Items that have expired
 * leave first, and count for nothing. What settles the window, or the items, is admitted with it, so each is flushed once.
 */
export function planFlush(input: FlushInput, options: NotifyOptions): AdmissionUnit {
  const { window, catalog } = input
  const { items, summary } = window
  const whole = { kind: 'window', id: window.id } as const
  const eventType = catalog.eventTypes.get(window.event)
  if (!eventType) {
    const entry = { what: 'excluded', detail: createReason('event_type_removed') } as const
    return { settles: { ...whole, timelineEntry: entry, erases: true }, notifications: [] }
  }
  const expired = items.filter(({ expiresAt }) => expiresAt !== undefined && expiresAt <= input.now)
  if (expired.length > 0)
    return {
      settles: { ...whole, items: expired.map(({ notificationId }) => notificationId), keepsTogether: true },
      notifications: expired.map((item) => planIndividual(item, input, eventType, options)),
    }
  const threshold = eventType.aggregation?.threshold ?? options.aggregationThreshold
  if (!summary || !isCombined(summary.count, threshold))
    return {
      settles: { ...whole, items: items.map(({ notificationId }) => notificationId) },
      notifications: items.map((item) => planIndividual(item, input, eventType, options)),
    }
  const one = planCombined(summary, input, eventType, options)
  const entry = { what: 'combined', detail: { into: one.id } } as const
  return { settles: { ...whole, timelineEntry: entry, erases: eventType.sensitive }, notifications: [one] }
}

function planIndividual(
  item: PendingItem,
  input: FlushInput,
  eventType: EventType,
  options: NotifyOptions,
): PlannedNotification {
  const wanted = channelsFor(item, input, eventType)
  const left = item.channels.filter((channel) => !wanted.includes(channel))
  const about = { id: item.notificationId, wanted, data: individualData(item), expiresAt: item.expiresAt }
  const planned = planNotification(about, input, eventType, options)
  const excluded = left.map((channel) => ({ channel, plan: excludedByPreference }))
  return { ...planned, acceptedAt: item.at, deliveries: [...planned.deliveries, ...excluded], stored: 'notification' }
}

const excludedByPreference = { kind: 'exclude', reason: createReason('preference') } as const

function planCombined(
  summary: WindowSummary,
  input: FlushInput,
  eventType: EventType,
  options: NotifyOptions,
): PlannedNotification {
  const wanted = sortChannels(summary.chosen.flatMap((item) => channelsFor(item, input, eventType)))
  const requested = sortChannels(summary.chosen.flatMap((item) => (item.byRequest ? item.channels : [])))
  const data = aggregateData(summary, input.window.items)
  const expiries = input.window.items.flatMap(({ expiresAt }) => expiresAt ?? [])
  const expiresAt = expiries.length > 0 ? Math.min(...expiries) : undefined
  const planned = planNotification(
    { id: newIdBeside(input.window.id), wanted, data, expiresAt },
    input,
    eventType,
    options,
  )
  const { event } = input.window
  const detail = { source: 'aggregation', event, priority: eventType.priority, count: summary.count }
  return {
    ...planned,
    decisions: [{ at: input.now, what: 'accepted', detail }, ...planned.decisions],
    ...(requested.length > 0 ? { requested } : {}),
  }
}

/** The channels an item may still take: those its request named, or those the stored preferences of now leave it. */
function channelsFor(item: ChosenBy, { profile }: FlushInput, eventType: EventType): readonly Channel[] {
  const chosen = chooseChannels(undefined, eventType, profile)
  const free = item.byRequest || chosen.because === 'event type'
  return free ? item.channels : item.channels.filter((channel) => chosen.channels.includes(channel))
}

interface FlushedNotification {
  readonly id: string
  readonly wanted: readonly Channel[]
  readonly data: Data
  readonly expiresAt: number | undefined
}

function planNotification(
  { id, wanted, data, expiresAt }: FlushedNotification,
  { window, profile, catalog, now }: FlushInput,
  eventType: EventType,
  options: NotifyOptions,
): PlannedNotification {
  const { userId, event } = window
  const decisions: TimelineEntry[] = []
  const plan = channelPlanner({ userId, data, eventType, profile, catalog, now, expiresAt }, options, decisions)
  const deliveries = wanted.map((channel) => ({ channel, plan: plan(channel) }))
  const { priority, sensitive } = eventType
  const about = { id, userId, event, data, priority, acceptedAt: now, sensitive }
  return { ...about, ...(expiresAt === undefined ? {} : { expiresAt }), decisions, deliveries, stored: 'no' }
}
