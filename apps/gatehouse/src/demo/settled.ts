import { setTimeout as pause } from 'node:timers/promises'
import type { Notification } from '@gatehouse/client'
import type { Producer } from './producer.ts'

/** The state of one delivery. */
export interface DeliveryState {
  readonly event: string
  readonly channel: string
  readonly state: string
}

/** What became of gathered events: each in its own message, or told together in another notification. */
export interface Gathered {
  readonly apart: number
  readonly together: number
  /** The notifications that the others were told in. */
  readonly into: ReadonlySet<string>
  /** Events that were neither, or a combined notification that led to nothing. */
  readonly lost: number
}

const maxWaitMs = 60_000
const readersAtOnce = 8

/** The states of the deliveries that were to be sent, once none is queued any more or a minute is over. */
export async function readDeliveries(
  producer: Producer,
  ids: readonly string[],
  isToBeSent: (outcome: string) => boolean = (outcome) => outcome === 'queued',
): Promise<DeliveryState[]> {
  const unsent = ({ deliveries }: Notification) =>
    deliveries.some(({ outcome, state }) => isToBeSent(outcome) && state === 'queued')
  const notifications = await readOnce(producer, ids, unsent)
  return notifications.flatMap(({ event, deliveries }) =>
    deliveries
      .filter(({ outcome }) => isToBeSent(outcome))
      .map(({ channel, state = 'queued' }) => ({ event, channel, state })),
  )
}

/** What became of gathered events, once their time is over: told in one message, or each in its own. */
export async function readGathered(producer: Producer, ids: readonly string[]): Promise<Gathered> {
  const notifications = await readOnce(producer, ids, (notification) => waits(notification) && !intoOf(notification))
  const into = new Set(notifications.flatMap((notification) => intoOf(notification) ?? []))
  const combined = await readOnce(producer, [...into], () => false)
  const combinedLikes = notifications.filter(intoOf)
  const apart = notifications.filter((notification) => !intoOf(notification) && !waits(notification))
  const empty = combined.filter(({ deliveries }) => deliveries.length === 0)
  return {
    apart: apart.length,
    together: combinedLikes.length,
    into,
    lost: notifications.length - combinedLikes.length - apart.length + empty.length,
  }
}

const waits = ({ deliveries }: Notification) => deliveries.some(({ outcome }) => outcome === 'aggregated')
function intoOf({ timeline }: Notification): string | undefined {
  for (const entry of timeline) if (entry.what === 'combined') return entry.detail?.into
  return undefined
}

/** The notifications, each read again until `unsettled` is false for it or a minute is over. */
async function readOnce(
  producer: Producer,
  ids: readonly string[],
  unsettled: (notification: Notification) => boolean,
): Promise<Notification[]> {
  const deadline = Date.now() + maxWaitMs
  const settled: Notification[] = []
  let waiting = [...ids]
  while (waiting.length > 0) {
    const again: string[] = []
    await inParallel(waiting, async (id) => {
      const notification = await producer.patiently((gatehouse) => gatehouse.notifications.get({ id }))
      if (unsettled(notification) && Date.now() < deadline) again.push(id)
      else settled.push(notification)
    })
    waiting = again
    if (waiting.length > 0) await pause(200)
  }
  return settled
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: readersAtOnce }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
