import type { DeliveryPlan, PlannedNotification } from '../admission/planned.ts'
import type { NotifyOptions } from '../config/options.ts'
import type { Channel } from '../model/channel.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import type { GatheredWindow } from '../store/store.ts'
import { aggregateData, individualData, isCombined, maxShown } from './aggregate-data.ts'
import { type ChannelPlanInput, channelPlanner } from './channel-plan.ts'

/** What an event would be gathered with, and what becomes of them. */
export interface Gathered {
  /** Whether others wait already. */
  readonly isOpen: boolean
  /** When they are sent, Unix milliseconds. */
  readonly flushAt: number
  /** Events, and distinct actors, with this one. */
  readonly items: number
  readonly actors: number
  readonly threshold: number
  readonly sentAs: 'combined' | 'individual'
  /** What its text would be rendered from. */
  readonly data: Data
}

/** Adds a planned event to what is gathered; undefined where its event type gathers nothing. */
export function gatherWith(
  window: GatheredWindow | undefined,
  { item, data, acceptedAt: at }: PlannedNotification,
  { aggregation }: EventType,
): Gathered | undefined {
  if (!item || !aggregation) return undefined
  const { actor } = item
  const { threshold } = aggregation
  const open = window !== undefined && window.flushAt > at ? window : undefined
  const flushAt = open?.flushAt ?? item.flushAt
  const alone = { actor, at, data }
  if (!open)
    return {
      ...{ isOpen: false, flushAt, items: 1, actors: 1, threshold },
      sentAs: isCombined(1, threshold) ? 'combined' : 'individual',
      data: individualData(alone),
    }
  const { summary } = open
  const isKnown = summary.actors.includes(actor)
  const count = summary.count + 1
  const actorCount = summary.actorCount + (isKnown ? 0 : 1)
  const combines = isCombined(count, threshold)
  const actors = isKnown ? summary.actors : [...summary.actors, actor].slice(0, maxShown)
  const whole = { count, actorCount, actors, firstAt: Math.min(summary.firstAt, at), lastAt: at, lastData: data }
  return {
    ...{ isOpen: true, flushAt, items: count, actors: actorCount, threshold },
    sentAs: combines ? 'combined' : 'individual',
    data: combines ? aggregateData(whole, [...open.items, alone].slice(0, maxShown)) : individualData(alone),
  }
}

/** What is planned for a channel at the end of its wait. */
export interface LaterPlan {
  /** Unix milliseconds. */
  readonly at: number
  readonly plan: DeliveryPlan
}

/** From the end of one wait it may come into one more: what was gathered, into quiet hours. */
const maxWaits = 3

/** Plans a channel as it will be planned at `at`, with what is known now, and after quiet hours where those hold then. */
export function planLater(
  channel: Channel,
  at: number,
  input: Omit<ChannelPlanInput, 'now'>,
  options: NotifyOptions,
): LaterPlan {
  let later: LaterPlan = { at, plan: { kind: 'defer', resumeAt: at } }
  for (let waits = 0; waits < maxWaits && later.plan.kind === 'defer'; waits++) {
    const now = later.plan.resumeAt
    later = { at: now, plan: channelPlanner({ ...input, now }, options, [])(channel) }
  }
  return later
}
