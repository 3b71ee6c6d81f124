import type { Producer } from './producer.ts'
import { readDeliveries } from './settled.ts'

interface DeadLetter {
  readonly notification_id: string
  readonly event: string
  readonly channel: string
  readonly detail: string
}

/** What was wrong with the dead letters, and what became of them once it was mended. */
export interface Repaired {
  readonly detail: string
  readonly letters: number
  readonly replayed: number
  readonly sent: number
  /** Still dead letters after the replay. */
  readonly left: number
  /** One of the notifications that were given up and sent after all. */
  readonly example?: string
}

/** Reads the dead letters of an event type on a channel, gives it the text that it lacked, and replays them. */
export async function repairDeadLetters(
  producer: Producer,
  { event, channel, body }: { readonly event: string; readonly channel: string; readonly body: string },
): Promise<Repaired> {
  const list = async () => {
    const query = new URLSearchParams({ event, channel, limit: '100' })
    const answer = (await producer.call('GET', `/v1/dead-letters?${query}`)) as { items: DeadLetter[] }
    return answer.items
  }
  const letters = await list()
  await producer.call('PUT', `/v1/templates/${event}/${channel}/en`, { body })
  const { replayed } = (await producer.call('POST', '/v1/dead-letters/replay', { event, channel })) as {
    replayed: number
  }
  const states = await readDeliveries(
    producer,
    letters.map((letter) => letter.notification_id),
    (outcome) => ['queued', 'failed'].includes(outcome),
  )
  const [first] = letters
  return {
    detail: first?.detail ?? '',
    letters: letters.length,
    replayed,
    sent: states.filter(({ state }) => state !== 'queued').length,
    left: (await list()).length,
    ...(first ? { example: first.notification_id } : {}),
  }
}
