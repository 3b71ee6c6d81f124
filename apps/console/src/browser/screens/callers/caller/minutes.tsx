import type { LimitedCaller } from '@gatehouse/client'
import { Text } from '@mantine/core'
import { Rows } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'

type Minute = LimitedCaller['minutes'][number]

const height = 90
const barWidth = 10

/** The last hour by the minute: allowed and rejected requests as bars, and as a table. */
export function Minutes({ minutes }: { minutes: readonly Minute[] }) {
  const t = useTexts()
  const { settings } = useSettings()
  const number = new Intl.NumberFormat(settings.language)
  const busy = minutes.filter(({ allowed, rejected }) => allowed + rejected > 0)
  const max = Math.max(1, ...minutes.map(({ allowed, rejected }) => allowed + rejected))
  const sum = (of: 'allowed' | 'rejected') => number.format(minutes.reduce((total, minute) => total + minute[of], 0))
  const summary = t.callers.minutesSummary(sum('allowed'), sum('rejected'), number.format(max))
  if (busy.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t.callers.quiet}
      </Text>
    )
  return (
    <div className="panel">
      <svg
        className="minutes"
        viewBox={`0 0 ${minutes.length * barWidth} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary}
      >
        {minutes.map((minute, nth) => (
          <Bar key={minute.at} minute={minute} x={nth * barWidth} scale={height / max} />
        ))}
      </svg>
      <div className="minutes-axis">
        <Time at={minutes[0]?.at} />
        <Time at={minutes.at(-1)?.at} />
      </div>
      <Text size="sm" mt="xs">
        <span className="swatch allowed" aria-hidden="true" /> {t.callers.allowed} {sum('allowed')}{' '}
        <span className="swatch rejected" aria-hidden="true" /> {t.callers.rejected} {sum('rejected')}
      </Text>
      <details>
        <summary>{t.callers.asTable}</summary>
        <Rows
          label={t.callers.minutes}
          rows={busy.toReversed()}
          keyOf={({ at }) => at}
          columns={[
            { label: t.callers.at, render: ({ at }) => <Time at={at} /> },
            { label: t.callers.allowed, render: ({ allowed }) => number.format(allowed) },
            { label: t.callers.rejected, render: ({ rejected }) => number.format(rejected) },
          ]}
        />
      </details>
    </div>
  )
}

function Bar({ minute: { allowed, rejected }, x, scale }: { minute: Minute; x: number; scale: number }) {
  return (
    <>
      <rect
        x={x + 1}
        y={height - (allowed + rejected) * scale}
        width={barWidth - 2}
        height={rejected * scale}
        className="rejected"
      />
      <rect x={x + 1} y={height - allowed * scale} width={barWidth - 2} height={allowed * scale} className="allowed" />
    </>
  )
}
