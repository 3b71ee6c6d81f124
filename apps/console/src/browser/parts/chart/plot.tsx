import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import { dateLocale, useSettings } from '../../texts/settings.tsx'
import { colourOf, dashes, isolatedPlaces, type Series } from './series.ts'

interface PlotProps {
  readonly at: readonly number[]
  readonly series: readonly Series[]
  readonly height: number
  readonly format: (value: number) => string
  /** Told of the moment under the pointer, by its place. */
  readonly onPoint: (place: number | undefined) => void
}

/** The lines of a chart on a canvas. What it shows is in the table beside it, for those who do not see it. */
export function Plot({ at, series, height, format, onPoint }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const { settings } = useSettings()
  const scheme = useComputedColorScheme()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the canvas has the colours of the scheme
  useEffect(() => {
    const parent = place.current
    if (parent === null) return
    const plot = new UPlot(
      optionsOf({ parent, series, height, format, onPoint, settings }),
      [[...at], ...series.map(({ values }) => [...values])],
      parent,
    )
    const resized = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height }))
    resized.observe(parent)
    return () => {
      resized.disconnect()
      plot.destroy()
    }
  }, [at, series, height, format, onPoint, settings, scheme])
  return <div ref={place} className="plot" style={{ height }} />
}

interface Drawn extends Omit<PlotProps, 'at'> {
  readonly parent: HTMLElement
  readonly settings: { readonly language: string; readonly zone: 'local' | 'utc' }
}

function optionsOf({ parent, series, height, format, onPoint, settings }: Drawn): UPlot.Options {
  const colour = (value: string) => resolveColour(parent, value)
  const [line, dim] = [colour('var(--console-line)'), colour('var(--mantine-color-dimmed)')]
  const axis = { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  return {
    width: parent.clientWidth,
    height,
    ms: 1,
    padding: [10, 28, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 7 } },
    tzDate: (at) => (settings.zone === 'utc' ? UPlot.tzDate(new Date(at), 'Etc/UTC') : new Date(at)),
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      { ...axis, space: 80, size: 30, values: (_plot, moments) => timeLabels(moments, settings) },
      { ...axis, size: 56, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...series.map((_, index) => ({
        stroke: colour(colourOf(index)),
        width: 2,
        dash: [...(dashes[index % dashes.length] ?? [])],
        points: { size: 5, filter: isolatedPoints },
        ...(series.length === 1 ? { fill: colour('var(--chart-fill)') } : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  }
}

/** Which points are drawn where there is no room for all of them: those that no line leads to. */
const isolatedPoints: UPlot.Series.Points.Filter = (plot, index, isShown) =>
  isShown ? null : isolatedPlaces(plot.data[index] ?? [])

/** A colour of the style sheet as a canvas takes it. */
function resolveColour(parent: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  parent.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const dayMs = 86_400_000

/** The labels of the time axis: the day where moments are days apart, else the time of day and each new day once. */
function timeLabels(moments: readonly number[], { language, zone }: Drawn['settings']): string[] {
  const timeZone = zone === 'utc' ? { timeZone: 'UTC' } : {}
  const day = new Intl.DateTimeFormat(dateLocale(language), { day: 'numeric', month: 'short', ...timeZone })
  const time = new Intl.DateTimeFormat(dateLocale(language), { hour: '2-digit', minute: '2-digit', ...timeZone })
  const [first = 0, second = first] = moments
  if (second - first >= dayMs) return moments.map((at) => day.format(at))
  return moments.map((at, index) => {
    const before = moments[index - 1]
    const isNewDay = before !== undefined && day.format(before) !== day.format(at)
    return isNewDay ? `${day.format(at)} ${time.format(at)}` : time.format(at)
  })
}
