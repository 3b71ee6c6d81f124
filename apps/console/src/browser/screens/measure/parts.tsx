import { SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { type RangeName, ranges } from '../../api/range.ts'
import { useSettings, useTexts } from '../../texts/settings.tsx'

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
