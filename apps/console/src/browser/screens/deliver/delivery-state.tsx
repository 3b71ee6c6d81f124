import { Group } from '@mantine/core'
import type { Delivery } from '../../api/records.ts'
import { State } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { useWords } from './code-words.ts'
import { toneOf } from './timeline.ts'

/** How a delivery stands, in one word: why it ended, else its state, else what was decided. */
export function DeliveryState({ delivery, named = false }: { delivery: Delivery; named?: boolean }) {
  const words = useWords()
  const { channel, outcome, state, ended } = delivery
  const word = ended !== undefined || state === undefined ? words.outcome(ended ?? outcome) : words.state(state)
  return <State tone={toneOf(delivery)}>{named ? `${words.channel(channel)} ${word}` : word}</State>
}

/** The deliveries of a notification beside each other, each with its channel. */
export function DeliveryStates({ deliveries }: { deliveries: readonly Delivery[] }) {
  const t = useTexts()
  if (deliveries.length === 0) return <span className="dim">{t.notifications.noChannel}</span>
  return (
    <Group gap={4}>
      {deliveries.map((delivery) => (
        <DeliveryState key={delivery.channel} delivery={delivery} named />
      ))}
    </Group>
  )
}
