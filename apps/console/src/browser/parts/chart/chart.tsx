import { Skeleton, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useSettings, useTexts } from '../../texts/settings.tsx'
import { Rows } from '../table.tsx'
import { Time } from '../values/values.tsx'
import { colourOf, dashes, type Series, tablePlaces } from './series.ts'

export type { Series } from './series.ts'

const Plot = lazy(async () => ({ default: (await import('./plot.tsx')).Plot }))

interface ChartProps {
  /** What is measured, for the table and for screen readers. */
  readonly label: string
  /** The moments, as Unix milliseconds. Keep the array and the series between renders: a new one is drawn again. */
  readonly at: readonly number[]
  readonly series: readonly Series[]
  /** A value in words; a whole number without it. Keep the function between renders. */
  readonly format?: (value: number) => string
  /** Pixels; 180 without it. */
  readonly height?: number
  /** What a series comes to in the legend while no moment is pointed at; its sum without it. */
  readonly summary?: (values: readonly (number | null)[]) => number | undefined
}

const defaultHeight = 180
const formats = new Map<string, (value: number) => string>()

/**
 * Lines over time, with a legend whose values follow the pointer and the table behind them. The library that draws is
 * loaded with the first chart.
 */
export function Chart({ label, at, series, format, height = defaultHeight, summary = sumOf }: ChartProps) {
  const { settings } = useSettings()
  const [place, setPlace] = useState<number>()
  const words = format ?? wholeNumbers(settings.language)
  return (
    <figure className="chart" aria-label={label}>
      <Legend series={series} place={place} format={words} summary={summary} />
      <div aria-hidden="true">
        <Suspense fallback={<Skeleton height={height} />}>
          <Plot at={at} series={series} height={height} format={words} onPoint={setPlace} />
        </Suspense>
      </div>
      <ChartTable label={label} at={at} series={series} format={words} />
    </figure>
  )
}

interface LegendProps extends Required<Pick<ChartProps, 'series' | 'format' | 'summary'>> {
  readonly place: number | undefined
}

function Legend({ series, place, format, summary }: LegendProps) {
  return (
    <ul className="legend">
      {series.map(({ label, values, total, link }, index) => {
        const value = place === undefined ? (total ?? summary(values)) : (values[place] ?? undefined)
        return (
          <li key={label}>
            <svg width="22" height="8" aria-hidden="true" focusable="false">
              <line
                x1="0"
                x2="22"
                y1="4"
                y2="4"
                stroke={colourOf(index)}
                strokeWidth="3"
                strokeDasharray={(dashes[index % dashes.length] ?? []).join(' ')}
              />
            </svg>
            {link === undefined ? (
              <span>{label}</span>
            ) : (
              <Link to={link.to} search={link.search ?? {}}>
                {label}
              </Link>
            )}
            <strong>{value === undefined ? '–' : format(value)}</strong>
          </li>
        )
      })}
    </ul>
  )
}

function ChartTable({ label, at, series, format }: Required<Pick<ChartProps, 'label' | 'at' | 'series' | 'format'>>) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Text span size="sm">
          {t.chart.table}
        </Text>
      </summary>
      {open && (
        <Rows
          label={label}
          rows={tablePlaces(at.length)}
          keyOf={(place) => String(at[place])}
          columns={[
            { label: t.chart.time, render: (place) => <Time at={new Date(at[place] ?? 0).toISOString()} /> },
            ...series.map(({ label: name, values }) => ({
              label: name,
              render: (place: number) => formatted(values[place], format),
            })),
          ]}
        />
      )}
    </details>
  )
}

function formatted(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value)
}

function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

/** One function a language, so that a chart is not drawn again for a new one. */
function wholeNumbers(language: string): (value: number) => string {
  const known = formats.get(language)
  if (known !== undefined) return known
  const { format } = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 })
  // Between whole numbers the axis of a small chart has marks without a number.
  const whole = (value: number) => (Number.isInteger(value) ? format(value) : '')
  formats.set(language, whole)
  return whole
}
