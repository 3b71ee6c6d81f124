import { Code, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useRead } from '../../../api/queries.ts'
import { Chart } from '../../../parts/chart/chart.tsx'
import { Answer } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { stepsOf } from '../shadow/compare.ts'

const dayMs = 86_400_000

/** What a tier or policy allowed and rejected in the last day, and how close callers come to it. */
export function Use({ name }: { name: string }) {
  const t = useTexts()
  const from = useMemo(() => new Date(Date.now() - dayMs).toISOString(), [])
  const statistics = useRead('readLimitStatistics', { by: 'policy', policy: name, from })
  return (
    <Stack component="section" className="panel" gap="sm" aria-label={t.use.title}>
      <Title order={2} size="h5">
        {t.use.title}
      </Title>
      <Answer action="readLimitStatistics" query={statistics}>
        {(found) => <Counted found={found} />}
      </Answer>
      <Closeness name={name} />
      <Text size="sm">
        <Link to="/limits/callers" search={{ policy: name, window: '24h' }}>
          {t.use.callers}
        </Link>
      </Text>
    </Stack>
  )
}

function Counted({ found }: { found: Parameters<typeof stepsOf>[0] }) {
  const t = useTexts()
  const at = useMemo(() => found.at.map(Date.parse), [found])
  const series = useMemo(
    () => [
      { label: t.callers.allowed, values: stepsOf(found, 'allowed') },
      { label: t.callers.rejected, values: stepsOf(found, 'rejected') },
    ],
    [found, t],
  )
  if (found.series.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t.use.nothing}
      </Text>
    )
  return <Chart label={t.use.chart} at={at} series={series} height={140} />
}

function Closeness({ name }: { name: string }) {
  const t = useTexts()
  const { settings } = useSettings()
  const percent = new Intl.NumberFormat(settings.language, { style: 'percent', maximumFractionDigits: 0 })
  const number = new Intl.NumberFormat(settings.language)
  const query = useRead('readLimitUse', { policy: name })
  return (
    <Answer action="readLimitUse" query={query}>
      {({ rules, scope, error_bound: bound }) => {
        const counted = rules.filter(({ callers }) => callers > 0)
        if (counted.length === 0) return null
        return (
          <>
            <Rows
              label={t.use.close}
              rows={counted}
              keyOf={({ name: rule }) => rule}
              columns={[
                {
                  label: t.callers.rule,
                  render: ({ name: rule, limit, window_seconds: seconds, shadow }) => (
                    <>
                      <Code>{rule}</Code> {number.format(limit)} {t.callers.per(seconds)}
                      {shadow ? ` · ${t.callers.isShadow}` : ''}
                    </>
                  ),
                },
                { label: t.use.counted, render: ({ callers }) => number.format(callers) },
                { label: t.use.half, render: ({ p50 }) => percent.format(p50) },
                { label: t.use.p95, render: ({ p95 }) => percent.format(p95) },
                { label: t.use.p99, render: ({ p99 }) => percent.format(p99) },
                { label: t.use.max, render: ({ max }) => percent.format(max) },
              ]}
            />
            <Text size="xs" c="dimmed">
              {t.use.closeLead} {scope === 'process' && `${t.callers.oneProcess} `}
              {bound > 0 && t.callers.bound(number.format(bound))}
            </Text>
          </>
        )
      }}
    </Answer>
  )
}
