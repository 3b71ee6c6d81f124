import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '@gatehouse/kit'
import type { NotificationStreamRules } from '../config/options.ts'
import { createdAtOf } from '../model/id.ts'
import { maskTimeline } from '../model/masking.ts'
import { SlowReader, writeAndDrain } from '../request/event-stream.ts'
import type { FollowedNotification, Notifications } from '../store/store.ts'

/** What one stream needs. */
export interface FollowOptions {
  readonly notifications: Pick<Notifications, 'follow'>
  readonly id: string
  /** The id of the last event that its reader has. */
  readonly after: string | undefined
  readonly masked: boolean
  readonly response: ServerResponse
  readonly rules: NotificationStreamRules
  readonly log: Log
}

/**
 * Entries have the time of their process in their ids, and become visible when their transaction commits. So a stream that
 * is resumed begins this long before the last one its reader has: an entry may come twice, and none is left out.
 */
const lateMs = 20_000
const maxPauseFactor = 5

/**
 * Sends the timeline of a notification and its deliveries as they change, until `ending` is aborted, the reader leaves or
 * the notification is gone. One that takes nothing for two heartbeats is cut off.
 */
export async function followNotification(options: FollowOptions, ending: AbortController): Promise<void> {
  const { response, log, id } = options
  response.once('close', () => ending.abort())
  try {
    await follow(options, ending.signal)
  } catch (error) {
    if (!(error instanceof SlowReader)) log.warn({ err: error, id }, 'the stream of a notification was ended')
  } finally {
    if (response.writableNeedDrain) response.destroy()
    else response.end()
  }
}

async function follow(
  { notifications, id, after, masked, response, rules }: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  const news = createNews(after, masked)
  let pauseMs = rules.pollMs
  let silentSince = performance.now()
  while (!signal.aborted) {
    const found = await notifications.follow(id)
    if (!found || signal.aborted) return
    const text = news(found)
    const isBeat = text === '' && performance.now() - silentSince >= rules.heartbeatMs
    if (text !== '' || isBeat) {
      await writeAndDrain(response, text || ':\n\n', rules.heartbeatMs)
      silentSince = performance.now()
    }
    pauseMs = text === '' ? Math.min(pauseMs * 1.5, rules.pollMs * maxPauseFactor, rules.heartbeatMs) : rules.pollMs
    await pause(pauseMs, undefined, { signal }).catch(() => {})
  }
}

/** Returns what of a notification its reader does not have yet, as events. */
function createNews(after: string | undefined, masked: boolean): (found: FollowedNotification) => string {
  const sent = new Set<string>()
  const deliveries = new Map<string, string>()
  let last = after
  return (found) => {
    const timeline = masked ? maskTimeline(found.timeline) : found.timeline
    const events: string[] = []
    for (const [n, { at, ...entry }] of timeline.entries()) {
      const id = found.entryIds[n] ?? ''
      if (sent.has(id) || isKnown(id, after)) continue
      sent.add(id)
      if (last === undefined || id > last) last = id
      events.push(eventOf('timeline', id, { id, at: new Date(at).toISOString(), ...entry }))
    }
    for (const delivery of found.deliveries) {
      const now = JSON.stringify(delivery)
      if (deliveries.get(delivery.channel) === now) continue
      deliveries.set(delivery.channel, now)
      events.push(eventOf('delivery', last ?? found.id, delivery))
    }
    return events.join('')
  }
}

/**
 * Whether a reader who has come to `after` has an entry for certain. What was decided at once has ids of its own: that of
 * the notification and the place in order, sent before anything that happened later.
 */
function isKnown(id: string, after: string | undefined): boolean {
  if (after === undefined) return false
  const place = placeOf(id)
  if (place === undefined) return createdAtOf(id) < createdAtOf(after) - lateMs
  return place <= (placeOf(after) ?? Number.POSITIVE_INFINITY)
}

/** The place of an entry among those that were decided at once; undefined for one that happened later. */
function placeOf(id: string): number | undefined {
  const [, place] = id.split('/')
  return place === undefined ? undefined : Number(place)
}

function eventOf(name: string, id: string, data: object): string {
  return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}
