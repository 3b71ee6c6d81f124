import type { EventType } from '../model/notification/event-type.ts'
import type { Data } from '../model/notification/notification.ts'
import type { PendingItem, WindowSummary } from '../store/store.ts'
import { actorOf } from './actor.ts'

/** How many actors and items of a window a template sees; the counts include all. */
export const maxShown = 100

/** Whether so many gathered items are sent as one notification: more than the threshold are. */
export function isCombined(items: number, threshold: number): boolean {
  return items > threshold
}

/** What a template of an aggregated event type may name, beside the data of the event itself. */
export function aggregateData(
  of: Omit<WindowSummary, 'chosen'>,
  items: ReadonlyArray<Pick<PendingItem, 'data'>>,
): Data {
  return {
    ...of.lastData,
    count: of.count,
    actors: of.actors,
    actor_count: of.actorCount,
    others_count: Math.max(0, of.actorCount - 1),
    items: items.map(({ data }) => data),
    first_at: new Date(of.firstAt).toISOString(),
    last_at: new Date(of.lastAt).toISOString(),
  }
}

/** The same of an event that is sent by itself after all. */
export function individualData({ actor, at, data }: Pick<PendingItem, 'actor' | 'at' | 'data'>): Data {
  const alone = { count: 1, actorCount: 1, actors: [actor], firstAt: at, lastAt: at, lastData: data }
  return aggregateData(alone, [{ data }])
}

/**
 * What the text of a notification that is not gathered (any more) is rendered from: of an aggregated event type what it
 * would be as the only one of its window; of a combined notification what it holds already.
 */
export function dataAlone({ id, at, data }: AloneEvent, { aggregation }: Pick<EventType, 'aggregation'>): Data {
  if (!aggregation || isAggregateData(data)) return data
  return individualData({ actor: actorOf(data, aggregation.actor) ?? id, at, data })
}

interface AloneEvent {
  readonly id: string
  /** When it was accepted, Unix milliseconds. */
  readonly at: number
  readonly data: Data
}

/** Whether these are the data of a combined notification: an event's own may have a `count`, but hardly all of these. */
function isAggregateData({ count, actors, items, last_at: lastAt }: Data): boolean {
  return typeof count === 'number' && Array.isArray(actors) && Array.isArray(items) && typeof lastAt === 'string'
}
