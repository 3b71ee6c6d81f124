interface TrendProps {
  readonly counts: readonly number[]
  readonly label: string
}

const width = 96
const height = 24

/** Counts over time as small bars; screen readers hear the numbers. */
export function Trend({ counts, label }: TrendProps) {
  const highest = Math.max(1, ...counts)
  const step = width / Math.max(1, counts.length)
  const bars = counts.map((count, place) => ({
    at: place * step,
    size: count === 0 ? 1 : 3 + (count / highest) * (height - 3),
  }))
  return (
    <svg
      className="trend"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      {bars.map(({ at, size }) => (
        <rect key={at} x={at + 1} y={height - size} width={step - 2} height={size} rx="1" />
      ))}
    </svg>
  )
}
