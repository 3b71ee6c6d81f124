import { useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { TextFilter } from '../../parts/filters/fields.tsx'
import { FilterForm } from '../../parts/filters/filter-form.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { EndSelected } from './end-selected.tsx'
import { useSessionColumns } from './session-columns.tsx'

const names = ['user_id', 'client_id', 'address'] as const

/** Where users are signed in, and how to end that: one, all of a user, all that the filters select. */
export function SessionsScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const query = usePages('findSessions', filters)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Page
      title={t.sections.sessions}
      lead={t.sessions.lead}
      actions={isFiltered && may('endSelectedSessions') ? <EndSelected filters={filters} /> : undefined}
    >
      <FilterForm screen="/sessions" names={names} filters={filters} apply={apply} personal={['address']}>
        <TextFilter name="user_id" label={t.sessions.user} className="grow" />
        <TextFilter name="client_id" label={t.sessions.client} className="grow" />
        <TextFilter name="address" label={t.sessions.address} className="grow" />
      </FilterForm>
      <List
        action="findSessions"
        query={query}
        label={t.sections.sessions}
        keyOf={({ id }) => id}
        empty={<Empty text={isFiltered ? t.states.noMatch : t.sessions.empty} />}
        columns={useSessionColumns(true)}
      />
    </Page>
  )
}
