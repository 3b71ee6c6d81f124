import { Alert, Text } from '@mantine/core'
import { useRead } from '../../api/queries.ts'
import { Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** While the counter store is unavailable: since when, and what policies do meanwhile. */
export function StoreNotice() {
  const t = useTexts()
  const { data } = useRead('readCounterStore')
  if (data === undefined || data.available) return null
  return (
    <Alert color="yellow" title={t.callers.storeAway}>
      <Text size="sm">
        {t.callers.since} <Time at={data.unavailable_since} />
      </Text>
      {data.failure_modes.map(({ failure_mode: mode, policies }) => (
        <Text size="sm" key={mode}>
          {t.callers.modes[mode as keyof typeof t.callers.modes] ?? mode} {policies.join(', ')}
        </Text>
      ))}
    </Alert>
  )
}
