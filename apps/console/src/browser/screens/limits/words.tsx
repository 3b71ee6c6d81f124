import { useSettings, useTexts } from '../../texts/settings.tsx'
import type { amounts, Declaration } from './declaration.ts'

/** How much a declaration allows, one line for each of its limits. */
export function Amounts({ of }: { of: Pick<Declaration, (typeof amounts)[number]> | undefined }) {
  const lines = useAmounts()(of ?? {})
  if (lines.length === 0) return <span className="dim">–</span>
  return (
    <ul className="amounts">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}

/** The limits of a declaration in words. */
function useAmounts(): (declaration: Pick<Declaration, (typeof amounts)[number]>) => string[] {
  const t = useTexts()
  const format = useNumbers()
  return ({ burst, ...windows }) => [
    ...(['rps', 'rpm', 'daily'] as const).flatMap((name) => {
      const limit = windows[name]
      return limit === undefined ? [] : [`${format(limit)} ${t.limits.per[name]}`]
    }),
    ...(burst === undefined ? [] : [t.limits.bucket(format(burst.capacity), format(burst.refill_per_second))]),
  ]
}

/** Formats numbers in the chosen language. */
export function useNumbers(): (value: number) => string {
  const { settings } = useSettings()
  const format = new Intl.NumberFormat(settings.language, { maximumFractionDigits: 3 })
  return (value) => format.format(value)
}
