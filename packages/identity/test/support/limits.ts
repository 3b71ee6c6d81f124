import { Type } from 'typebox'
import type { LimitRules } from '../../src/index.ts'

const declaration = Type.Object({ rpm: Type.Integer({ minimum: 1 }) }, { additionalProperties: false })

/** The limits of a file with one tier. */
export const fileWith = (rpm: number, others: Record<string, { rpm: number }> = {}): LimitRules['file'] => ({
  document: { tiers: { free: { rpm }, ...others }, policies: { search: { rpm: 30 } } },
  isDeclared: true,
})

/** Rules that allow up to 1,000 a minute, and need a tier. */
export function limitRules(file: LimitRules['file'] = fileWith(10)): LimitRules {
  return {
    tier: declaration,
    policy: declaration,
    file,
    lowest: ({ tiers }) => Object.keys(tiers).sort()[0] ?? '',
    check({ tiers }) {
      if (Object.keys(tiers).length === 0) return { detail: 'tiers: there must be at least one' }
      const high = Object.entries(tiers).find(([, { rpm }]) => Number(rpm) > 1_000)
      if (high === undefined) return undefined
      const expected = 'at most 1000 a minute'
      const place = { kind: 'tiers', name: high[0], pointer: '/rpm', expected } as const
      return { detail: `policy "${high[0]}": ${expected}`, place }
    },
  }
}
