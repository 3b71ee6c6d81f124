import { Group, Progress, Stack, Text, Title } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** What of the caps the user has used, and what is gathered for them. */
export function Standing({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('readStanding', { id })
  return (
    <Stack component="section" className="panel" aria-label={t.user.caps}>
      <Title order={2}>{t.user.caps}</Title>
      <Answer action="readStanding" query={query}>
        {({ caps, open_windows: windows }) => (
          <Stack gap="sm">
            {caps.length === 0 && (
              <Text size="sm" c="dimmed">
                {t.user.noCaps}
              </Text>
            )}
            {caps.map(({ cap, limit, used, resets_at: resetsAt }) => (
              <Bar
                key={cap}
                label={cap === 'total' ? t.user.capTotal : cap}
                used={used}
                limit={limit}
                resetsAt={resetsAt}
              />
            ))}
            {windows.map(({ event, items, flush_at: at }) => (
              <Text key={event} size="sm">
                {t.user.gathered(event, items)} <Time at={at} />
              </Text>
            ))}
          </Stack>
        )}
      </Answer>
    </Stack>
  )
}

interface BarProps {
  readonly label: string
  readonly used: number
  readonly limit: number
  readonly resetsAt?: string | undefined
}

/** How much of a limit is used, in words and as a bar. */
export function Bar({ label, used, limit, resetsAt }: BarProps) {
  const t = useTexts()
  const share = limit === 0 ? 100 : Math.min(100, (used / limit) * 100)
  return (
    <div>
      <Group justify="space-between" gap="xs">
        <Text size="sm">{label}</Text>
        <Text size="sm" className="numbers">
          {t.user.usedOf(used, limit)}
        </Text>
      </Group>
      <Progress
        value={share}
        color={share >= 100 ? 'red' : share >= 80 ? 'yellow' : 'brand'}
        aria-label={`${label}: ${t.user.usedOf(used, limit)}`}
        mt={4}
      />
      {resetsAt !== undefined && (
        <Text size="xs" c="dimmed" mt={2}>
          {t.user.resets} <Time at={resetsAt} />
        </Text>
      )}
    </div>
  )
}
