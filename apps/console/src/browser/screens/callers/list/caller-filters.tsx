import { Button, Group, NativeSelect } from '@mantine/core'
import type { Filters } from '../../../api/filters.ts'
import { useRead } from '../../../api/queries.ts'
import { SavedViews } from '../../../parts/filters/saved-views.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** What the lists of callers are narrowed by, in the address. */
export type CallerFilter = Filters<'tab' | 'window' | 'policy' | 'kind' | 'route' | 'by'>

interface CallerFiltersProps {
  readonly tab: 'rejected' | 'allowed' | 'rejections' | 'totals'
  readonly filters: CallerFilter
  readonly apply: (next: CallerFilter) => void
}

/** How far back lists of callers reach. */
export const windows = ['15m', '1h', '24h', '7d'] as const
const dimensions = ['policy', 'route', 'tier'] as const

/** The filters of a tab; each applies as it is chosen. */
export function CallerFilters({ tab, filters, apply }: CallerFiltersProps) {
  const t = useTexts()
  const names = useRead('listPolicyNames')
  const routes = useRead('listRoutes')
  const policies = [...(names.data?.tiers ?? []), ...(names.data?.policies ?? [])].map(({ name }) => name)
  const templates = [...new Set((routes.data?.items ?? []).map(({ path }) => path))]
  const select = (name: keyof CallerFilter, label: string, data: readonly (string | Option)[]) => (
    <NativeSelect
      label={label}
      value={filters[name] ?? (name === 'window' ? '1h' : '')}
      data={[...data]}
      onChange={(event) => apply({ ...filters, [name]: event.currentTarget.value })}
    />
  )
  const every = { value: '', label: t.callers.every }
  const kinds = Object.entries(t.callers.kinds).map(([value, label]) => ({ value, label }))
  const isNarrowed = [filters.policy, filters.kind, filters.route].some((one) => one !== undefined)
  return (
    <Group align="flex-end" gap="xs" mb="md" role="group" aria-label={t.common.filters}>
      {tab !== 'rejections' && select('window', t.callers.window, windowOptions(t.callers.windows))}
      {tab === 'totals' && select('by', t.callers.by, byOptions(t.callers.dimensions))}
      {tab !== 'totals' && (
        <>
          {select('policy', t.callers.policy, [every, ...policies])}
          {select('kind', t.callers.kind, [every, ...kinds])}
          {templates.length > 0 && select('route', t.callers.route, [every, ...templates])}
          {isNarrowed && (
            <Button
              variant="subtle"
              onClick={() => apply({ tab, ...(filters.window === undefined ? {} : { window: filters.window }) })}
            >
              {t.common.clear}
            </Button>
          )}
        </>
      )}
      <SavedViews screen="/limits/callers" filters={filters} apply={apply} />
    </Group>
  )
}

interface Option {
  readonly value: string
  readonly label: string
}

const windowOptions = (labels: Readonly<Record<(typeof windows)[number], string>>): Option[] =>
  windows.map((value) => ({ value, label: labels[value] }))

const byOptions = (labels: Readonly<Record<(typeof dimensions)[number], string>>): Option[] =>
  dimensions.map((value) => ({ value: value === 'policy' ? '' : value, label: labels[value] }))
