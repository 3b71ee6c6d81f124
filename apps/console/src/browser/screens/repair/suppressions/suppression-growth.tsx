import { useMemo, useState } from 'react'
import { useRead } from '../../../api/queries.ts'
import { type RangeName, ranges } from '../../../api/range.ts'
import { useMay } from '../../../api/session.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { Lines } from '../../measure/figures.ts'
import { Counted, Figures, RangeChoice } from '../../measure/parts.tsx'

/** How many addresses came under each reason, over time. */
export function SuppressionGrowth() {
  const t = useTexts()
  const may = useMay()
  const [range, choose] = useState<RangeName>('30d')
  const input = useMemo(() => {
    const { lengthMs, step } = ranges[range]
    return { measure: 'suppressions', by: 'reason', from: new Date(Date.now() - lengthMs).toISOString(), step } as const
  }, [range])
  const query = useRead('readStats', input, may('readStats'))
  const lines = useMemo((): Lines => {
    const names: Readonly<Record<string, string>> = t.suppressions.reasons
    return {
      by: 'reason',
      name: (reason) => names[reason] ?? reason,
      link: (reason) => ({ to: '/suppressions', search: { reason } }),
    }
  }, [t])
  if (!may('readStats')) return null
  return (
    <Figures title={t.suppressions.growth}>
      <RangeChoice value={range} onChoose={choose} />
      <Answer action="readStats" query={query}>
        {(data) => <Counted title={t.suppressions.growth} data={data} lines={lines} />}
      </Answer>
    </Figures>
  )
}
