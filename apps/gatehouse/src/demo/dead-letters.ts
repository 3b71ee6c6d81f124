import type { NotifyRequest } from '@gatehouse/client'
import type { Producer } from './producer.ts'
import { readDeliveries } from './settled.ts'

/** A channel that a notification may be sent on. */
export type Channel = NonNullable<NotifyRequest['channels']>[number]

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
  { event, channel, body }: { readonly event: string; readonly channel: Channel; readonly body: string },
): Promise<Repaired> {
  const list = () => producer.patiently((gatehouse) => gatehouse.deadLetters.list({ event, channel }).take(100))
  const letters = await list()
  const text = { template_id: event, channel, locale: 'en', body: { body } }
  await producer.patiently((gatehouse) => gatehouse.templates.update(text))
  const { replayed } = await producer.patiently((gatehouse) => gatehouse.deadLetters.replayMany({ event, channel }))
  const states = await readDeliveries(
    producer,
    letters.flatMap((letter) => letter.notification_id ?? []),
    (outcome) => ['queued', 'failed'].includes(outcome),
  )
  const [first] = letters
  return {
    detail: first?.detail ?? '',
    letters: letters.length,
    replayed,
    sent: states.filter(({ state }) => state !== 'queued').length,
    left: (await list()).length,
    ...(first?.notification_id ? { example: first.notification_id } : {}),
  }
}
