import { setTimeout as pause } from 'node:timers/promises'
import type { Producer } from './producer.ts'

export interface DeliveryState {
  readonly event: string
  readonly channel: string
  readonly state: string
}

interface Notification {
  readonly event: string
  readonly deliveries: ReadonlyArray<{ readonly channel: string; readonly outcome: string; readonly state?: string }>
}

const longestWaitMs = 60_000
const readersAtOnce = 8

/** The states of the queued deliveries of these notifications, once none is queued any more or a minute is over. */
export async function readDeliveries(producer: Producer, ids: readonly string[]): Promise<DeliveryState[]> {
  const deadline = Date.now() + longestWaitMs
  const settled: DeliveryState[] = []
  let waiting = [...ids]
  while (waiting.length > 0) {
    const again: string[] = []
    await inParallel(waiting, async (id) => {
      const { event, deliveries } = (await producer.call('GET', `/v1/notifications/${id}`)) as Notification
      const sent = deliveries.filter(({ outcome }) => outcome === 'queued')
      const unsent = sent.some(({ state }) => state === 'queued')
      if (unsent && Date.now() < deadline) again.push(id)
      else settled.push(...sent.map(({ channel, state = 'queued' }) => ({ event, channel, state })))
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
