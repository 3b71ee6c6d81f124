import type { Data } from '../model/notification/notification.ts'
import type { PendingItem, WindowSummary } from '../store/store.ts'

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
