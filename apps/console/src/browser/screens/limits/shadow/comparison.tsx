import { Code, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { useMemo } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useRead } from '../../../api/queries.ts'
import { Chart } from '../../../parts/chart/chart.tsx'
import { Answer } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import { compare, compareRows, stepsOf } from './compare.ts'

const hours = { '1h': 1, '24h': 24, '7d': 168 } as const
const dimensions = ['route', 'tier'] as const

/** What the rules in shadow would have done, beside what was done: in all, over time, by route or tier. */
export function Comparison({ policy }: { policy: string }) {
  const t = useTexts()
  const [filters, apply] = useFilters(['window', 'by'])
  const window = filters.window !== undefined && filters.window in hours ? (filters.window as keyof typeof hours) : '1h'
  const by = dimensions.find((name) => name === filters.by) ?? 'route'
  // A new time at each rendering would be a new question each time.
  const from = useMemo(() => new Date(Date.now() - hours[window] * 3_600_000).toISOString(), [window])
  const query = useRead('readLimitStatistics', { by, policy, from })
  return (
    <Stack gap="sm" mt="md">
      <Group gap="xs">
        <SegmentedControl
          aria-label={t.callers.window}
          value={window}
          onChange={(next) => apply({ ...filters, window: next })}
          data={Object.keys(hours).map((value) => ({ value, label: t.callers.windows[value as keyof typeof hours] }))}
        />
        <SegmentedControl
          aria-label={t.callers.by}
          value={by}
          onChange={(next) => apply({ ...filters, by: next })}
          data={dimensions.map((value) => ({ value, label: t.callers.dimensions[value] }))}
        />
      </Group>
      <Answer action="readLimitStatistics" query={query}>
        {(found) => <Compared found={found} by={by} />}
      </Answer>
    </Stack>
  )
}

interface ComparedProps {
  readonly found: Parameters<typeof stepsOf>[0]
  readonly by: (typeof dimensions)[number]
}

function Compared({ found, by }: ComparedProps) {
  const t = useTexts()
  const format = useNumbers()
  const total = compare(found.series)
  const at = useMemo(() => found.at.map(Date.parse), [found])
  const series = useMemo(
    () => [
      { label: t.shadow.rejected, values: stepsOf(found, 'rejected') },
      { label: t.shadow.wouldReject, values: stepsOf(found, 'shadow') },
    ],
    [found, t],
  )
  if (total.requests === 0)
    return (
      <Text size="sm" c="dimmed">
        {t.shadow.nothing}
      </Text>
    )
  return (
    <>
      <Text fw={600} className="compared">
        {t.shadow.summary(format(total.requests), format(total.rejected), format(total.wouldReject))}
      </Text>
      <Chart label={t.shadow.chart} at={at} series={series} />
      <Rows
        label={t.shadow.label}
        rows={compareRows(found, by)}
        keyOf={({ name }) => name}
        columns={[
          { label: t.callers.dimensions[by], render: ({ name }) => <Code>{name}</Code> },
          { label: t.shadow.requests, render: ({ requests }) => format(requests) },
          { label: t.shadow.rejected, render: ({ rejected }) => format(rejected) },
          { label: t.shadow.wouldReject, render: ({ wouldReject }) => format(wouldReject) },
          { label: t.shadow.more, render: ({ more }) => (more === 0 ? '0' : `+${format(more)}`) },
          { label: t.shadow.fewer, render: ({ fewer }) => (fewer === 0 ? '0' : `−${format(fewer)}`) },
        ]}
      />
      {total.fewer > 0 && (
        <Text size="xs" c="dimmed">
          {t.shadow.fewerNote}
        </Text>
      )}
    </>
  )
}
