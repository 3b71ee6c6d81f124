import { Text, Title } from '@mantine/core'
import { useMemo } from 'react'
import { Rows } from '../../../parts/table.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import { breakdownOf } from './breakdown.ts'
import type { Simulated } from './simulate.ts'

const maxShown = 20

/** What the limits did, by route and by caller. */
export function Breakdown({ results }: { results: readonly Simulated[] }) {
  return (
    <>
      <BreakdownTable results={results} by="route" />
      <BreakdownTable results={results} by="caller" />
    </>
  )
}

/** What the limits did to each caller or route; nothing where there is only one. */
function BreakdownTable({ results, by }: { results: readonly Simulated[]; by: 'caller' | 'route' }) {
  const t = useTexts()
  const format = useNumbers()
  const parts = useMemo(() => {
    const arrivals = results[0]?.simulation.arrivals ?? []
    return breakdownOf(
      arrivals,
      results.map(({ outcome }) => outcome.decisions),
      by,
    )
  }, [results, by])
  if (parts.length < (by === 'caller' ? 2 : 1)) return null
  return (
    <section aria-label={t.simulator.by[by]}>
      <Title order={3} size="h6" mb={4}>
        {t.simulator.by[by]}
      </Title>
      <Rows
        label={t.simulator.by[by]}
        rows={parts.slice(0, maxShown)}
        keyOf={({ name }) => name}
        columns={[
          { label: t.simulator.part[by], render: ({ name }) => name },
          { label: t.simulator.requests, render: ({ requests }) => format(requests) },
          ...results.map(({ label }, nth) => ({
            label: t.simulator.rejectedBy(label),
            render: ({ rejected }: (typeof parts)[number]) => format(rejected[nth] ?? 0),
          })),
        ]}
      />
      {parts.length > maxShown && (
        <Text size="sm" c="dimmed" mt={4}>
          {t.simulator.partsShown(format(maxShown), format(parts.length))}
        </Text>
      )}
    </section>
  )
}
