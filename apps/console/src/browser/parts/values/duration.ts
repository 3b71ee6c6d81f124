const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** A duration (milliseconds) in its largest unit, for people: `340 ms`, `1.2 s`, `3 min`. */
export function formatDuration(ms: number, language: string): string {
  const [unit, size] = units.find(([, minMs]) => ms >= minMs) ?? (['millisecond', 1] as const)
  const maximumFractionDigits = unit === 'millisecond' || ms >= 10 * size ? 0 : 1
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits })
  return format.format(ms / size)
}
