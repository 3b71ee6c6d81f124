import type { LimitStatistics } from '@gatehouse/client'
import { Code } from '@mantine/core'
import { useMemo } from 'react'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { Share } from '../share.tsx'
import { windows } from './caller-filters.tsx'
import { sumSeries } from './sums.ts'

const lengths = { '15m': 900, '1h': 3_600, '24h': 86_400, '7d': 604_800 } as const

interface TotalsProps {
  readonly by: string | undefined
  readonly window: string | undefined
}

/** How many requests were allowed, rejected, and would have been rejected by shadow rules. */
export function Totals({ by: chosenBy, window: chosen }: TotalsProps) {
  const t = useTexts()
  const { settings } = useSettings()
  const number = new Intl.NumberFormat(settings.language)
  const by = chosenBy === 'route' || chosenBy === 'tier' ? chosenBy : 'policy'
  const window = windows.find((name) => name === chosen) ?? '1h'
  // A new time at each rendering would be a new question each time.
  const from = useMemo(() => new Date(Date.now() - lengths[window] * 1_000).toISOString(), [window])
  const query = useRead('readLimitStatistics', { by, from })
  return (
    <Answer action="readLimitStatistics" query={query}>
      {(answer: LimitStatistics) => {
        const rows = sumSeries(answer, by)
        if (rows.length === 0) return <Empty text={t.callers.nobody.allowed} />
        return (
          <Rows
            label={t.callers.tabs.totals}
            rows={rows}
            keyOf={({ name }) => name}
            columns={[
              { label: t.callers.dimensions[by], render: ({ name }) => <Code>{name}</Code> },
              { label: t.callers.allowed, render: (row) => number.format(row.allowed) },
              { label: t.callers.rejected, render: (row) => number.format(row.rejected) },
              { label: t.callers.share, render: (row) => <Share rejected={row.rejected} allowed={row.allowed} /> },
              ...(by === 'policy'
                ? [
                    {
                      label: t.callers.shadow,
                      render: (row: { readonly shadow: number }) => number.format(row.shadow),
                    },
                    {
                      label: t.callers.rules,
                      render: (row: { readonly rules: readonly (readonly [string, number])[] }) =>
                        row.rules.map(([rule, count]) => `${rule} ${number.format(count)}`).join(', '),
                    },
                  ]
                : []),
            ]}
          />
        )
      }}
    </Answer>
  )
}
