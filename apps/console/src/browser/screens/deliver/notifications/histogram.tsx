import { useMemo } from 'react'
import { useRead } from '../../../api/queries.ts'
import { ranges } from '../../../api/range.ts'
import { useMay } from '../../../api/session.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { Lines } from '../../measure/figures.ts'
import { Counted, Figures } from '../../measure/parts.tsx'
import { wordOf } from '../word-of.ts'
import { countedSearch } from './counted-search.ts'
import type { NotificationFilters } from './filter-form.tsx'

/** What was accepted over the time of the list, by outcome; left out where the filters ask for more than is counted. */
export function Histogram({ filters }: { filters: NotificationFilters }) {
  const t = useTexts()
  const may = useMay()
  const now = Math.floor(Date.now() / hourMs) * hourMs
  const counted = useMemo(() => countedSearch(filters, now), [filters, now])
  const isShown = counted !== undefined && may('readStats')
  const query = useRead('readStats', counted?.input, isShown)
  const lines = useMemo(
    (): Lines => ({
      by: 'outcome',
      where: counted?.where ?? (() => true),
      name: (outcome) => wordOf(t.codes.outcomes, outcome),
      link: (outcome) => ({ to: '/notifications', search: { ...filters, outcome } }),
    }),
    [counted, filters, t],
  )
  if (!isShown) return null
  const title =
    filters.from === undefined ? t.notifications.accepts(t.measure.ranges['24h']) : t.notifications.acceptsThen
  return (
    <Figures title={title}>
      <Answer action="readStats" query={query}>
        {(data) => <Counted title={title} data={data} lines={lines} />}
      </Answer>
    </Figures>
  )
}

const hourMs = ranges['1h'].lengthMs
