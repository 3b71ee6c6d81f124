import type { Provider } from '@gatehouse/client'
import { Group, Text } from '@mantine/core'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { wordOf } from '../words.ts'

const tones = {
  closed: 'good',
  open: 'bad',
  probing: 'careful',
  paused: 'careful',
  misconfigured: 'bad',
} as const

/** Pauses that end after this have no end that somebody chose. */
const endless = Date.parse('9000-01-01T00:00:00Z')

/** Whether a provider is called, and until when it is not. */
export function ProviderStateBadge({ provider: { state, open_until, paused_until } }: { provider: Provider }) {
  const t = useTexts()
  const until =
    state === 'paused' ? paused_until : state === 'open' || state === 'misconfigured' ? open_until : undefined
  return (
    <Group gap={6}>
      <State tone={wordOf(tones, state) ?? 'neutral'}>{wordOf(t.providers.states, state) ?? state}</State>
      {until !== undefined && (
        <Text size="xs" c="dimmed">
          {Date.parse(until) > endless ? t.providers.untilResumed : <Time at={until} />}
        </Text>
      )}
    </Group>
  )
}

/** Of the calls of the last hour the share that failed; undefined without calls. */
export function shareOf({ calls, failures }: Pick<Provider, 'calls' | 'failures'>): string | undefined {
  if (calls === 0) return undefined
  const percent = (failures / calls) * 100
  return `${percent > 0 && percent < 1 ? '<1' : Math.round(percent)} %`
}
