import { Group } from '@mantine/core'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { Span, Timeline } from './key-timeline.ts'

const width = 1_000
const rowHeight = 26
const barHeight = 14
const parts: readonly Span['what'][] = ['published', 'signing', 'retiring']

/** The lives of the keys of an algorithm beside each other. The table below says the same in words. */
export function TimelineChart({ timeline: { alg, from, to, now, lines } }: { timeline: Timeline }) {
  const t = useTexts()
  const height = lines.length * rowHeight
  return (
    <figure className="key-timeline">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        height={height}
        width="100%"
        role="img"
        aria-label={t.signingKeys.chart(alg)}
      >
        {lines.map(({ key, spans }, row) =>
          spans.map(({ what, from: start, to: end }) => (
            <rect
              key={`${key.kid} ${what}`}
              className={`span ${what}`}
              x={start * width}
              y={row * rowHeight + (rowHeight - barHeight) / 2}
              width={Math.max(4, (end - start) * width)}
              height={barHeight}
            />
          )),
        )}
        <line className="now" x1={now * width} x2={now * width} y1={0} y2={height} />
      </svg>
      <Group justify="space-between" className="small dim">
        <Time at={new Date(from).toISOString()} />
        <Time at={new Date(to).toISOString()} />
      </Group>
      <figcaption className="small">
        {parts.map((part) => (
          <span key={part} className="part">
            <svg width="12" height="12" aria-hidden="true">
              <rect className={`span ${part}`} width="12" height="12" />
            </svg>
            {t.signingKeys.parts[part]}
          </span>
        ))}
        <span className="part">
          <svg width="12" height="12" aria-hidden="true">
            <line className="now" x1="6" x2="6" y1="0" y2="12" />
          </svg>
          {t.signingKeys.now}
        </span>
      </figcaption>
    </figure>
  )
}
