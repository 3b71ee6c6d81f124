import { Text } from '@mantine/core'
import { useTexts } from '../../../texts/settings.tsx'
import { useNumbers } from '../words.tsx'
import type { Arrival } from './traffic.ts'

interface ChartProps {
  readonly label: string
  readonly arrivals: readonly Arrival[]
  /** For each arrival 1 when it was admitted. */
  readonly decisions: Uint8Array
}

const bars = 60
const [width, height] = [600, 90]

/** Admitted and rejected requests over time, as bars. What they say in numbers is in the table above. */
export function Chart({ label, arrivals, decisions }: ChartProps) {
  const t = useTexts()
  const format = useNumbers()
  const counted = countBars(arrivals, decisions)
  const highest = Math.max(1, ...counted.map(({ admitted, rejected }) => admitted + rejected))
  const sum = (name: 'admitted' | 'rejected') => format(counted.reduce((total, bar) => total + bar[name], 0))
  const text = t.simulator.chartText(sum('admitted'), sum('rejected'))
  const scale = (count: number) => (count / highest) * height
  return (
    <figure className="traffic">
      <Text component="figcaption" size="sm" fw={600}>
        {label}
      </Text>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${t.simulator.chart(label)}. ${text}`}
      >
        {counted.map(({ at, admitted, rejected }) => (
          <g key={at} transform={`translate(${(at * width) / bars} 0)`}>
            <rect className="admitted" width={width / bars - 1} height={scale(admitted)} y={height - scale(admitted)} />
            <rect
              className="rejected"
              width={width / bars - 1}
              height={scale(rejected)}
              y={height - scale(admitted) - scale(rejected)}
            />
          </g>
        ))}
      </svg>
      <Text size="xs" c="dimmed">
        <span className="key admitted" aria-hidden="true" /> {t.simulator.admitted}{' '}
        <span className="key rejected" aria-hidden="true" /> {t.simulator.rejected}
      </Text>
    </figure>
  )
}

/** Counts the requests of each bar: equal parts of the time from the first to the last. */
function countBars(arrivals: readonly Arrival[], decisions: Uint8Array) {
  const start = arrivals[0]?.at ?? 0
  const span = (arrivals.at(-1)?.at ?? 0) - start + 1
  const counted = Array.from({ length: bars }, (_, at) => ({ at, admitted: 0, rejected: 0 }))
  arrivals.forEach((arrival, nth) => {
    const bar = counted[Math.floor(((arrival.at - start) / span) * bars)]
    if (bar === undefined) return
    if (decisions[nth] === 1) bar.admitted++
    else bar.rejected++
  })
  return counted
}
