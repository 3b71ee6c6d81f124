import type { StatSeries } from '@gatehouse/client'
import { SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useMemo } from 'react'
import { type RangeName, ranges } from '../../api/range.ts'
import { Chart } from '../../parts/chart/chart.tsx'
import { useSettings, useTexts } from '../../texts/settings.tsx'
import { endedSteps, type Lines, linesOf, momentsOf } from './figures.ts'

/** The choice of a range of time. */
export function RangeChoice({ value, onChoose }: { value: RangeName; onChoose: (name: RangeName) => void }) {
  const t = useTexts()
  return (
    <SegmentedControl
      size="sm"
      value={value}
      onChange={(name) => onChoose(name as RangeName)}
      aria-label={t.measure.range}
      data={(Object.keys(ranges) as RangeName[]).map((name) => ({ value: name, label: t.measure.ranges[name] }))}
    />
  )
}

/** A region of figures with its heading. */
export function Figures({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <Stack component="section" className="panel" gap="xs" aria-label={title}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {note !== undefined && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
      {children}
    </Stack>
  )
}

interface CountedProps {
  readonly title: string
  readonly data: StatSeries
  /** The label whose values are the lines, how they are called, and where they lead. */
  readonly lines: Lines
}

/** What was counted over time, a line for each value of a label. Keep `lines` between renders. */
export function Counted({ title, data: answer, lines }: CountedProps) {
  const t = useTexts()
  const data = useMemo(() => endedSteps(answer, Date.now()), [answer])
  const at = useMemo(() => momentsOf(data), [data])
  const series = useMemo(() => linesOf(data, lines), [data, lines])
  if (series.length === 0)
    return (
      <Text c="dimmed" size="sm">
        {t.measure.nothing}
      </Text>
    )
  return <Chart label={title} at={at} series={series} height={110} />
}

interface TileProps {
  readonly label: string
  readonly value: number
  /** A second line, such as a rate. */
  readonly note?: string | undefined
}

/** One number with its name. */
export function Tile({ label, value, note }: TileProps) {
  const format = useNumber()
  return (
    <div className="tile panel">
      <dt>{label}</dt>
      <dd>
        <strong>{format(value)}</strong>
        {note !== undefined && <span className="dim">{note}</span>}
      </dd>
    </div>
  )
}

/** Formats numbers in the person's language. */
export function useNumber(options?: Intl.NumberFormatOptions): (value: number) => string {
  const { settings } = useSettings()
  return new Intl.NumberFormat(settings.language, options).format
}
