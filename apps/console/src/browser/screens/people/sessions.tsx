import { useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay, useSeesPersonalData } from '../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../parts/filters/fields.tsx'
import { FilterForm } from '../../parts/filters/filter-form.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { EndSelected } from './end-selected.tsx'
import { useSessionColumns } from './session-columns.tsx'

const fields = ['user_id', 'client_id', 'address', 'is_new'] as const
const names = [...fields, 'id'] as const
/** The filters by which sessions are ended. */
const endable = ['user_id', 'client_id', 'address'] as const

/** Where users are signed in, and how to end that: one, all of a user, all that the filters select. */
export function SessionsScreen() {
  const t = useTexts()
  const may = useMay()
  const seesPersonalData = useSeesPersonalData()
  const [filters, apply] = useFilters(names)
  const { is_new: isNew, ...others } = filters
  const query = usePages('findSessions', { ...others, ...(isNew === undefined ? {} : { is_new: isNew === 'true' }) })
  const isFiltered = Object.keys(filters).length > 0
  const isEndable = isFiltered && Object.keys(filters).every((name) => endable.some((one) => one === name))
  return (
    <Page
      title={t.sections.sessions}
      lead={t.sessions.lead}
      actions={isEndable && may('endSelectedSessions') ? <EndSelected filters={filters} /> : undefined}
    >
      <FilterForm screen="/sessions" names={fields} filters={filters} apply={apply} personal={['address', 'id']}>
        <TextFilter name="user_id" label={t.sessions.user} className="grow" />
        <TextFilter name="client_id" label={t.sessions.client} className="grow" />
        {seesPersonalData && <TextFilter name="address" label={t.sessions.address} className="grow" />}
        <ChoiceFilter
          name="is_new"
          label={t.sessions.place}
          every={t.sessions.anyPlace}
          data={[{ value: 'true', label: t.sessions.newPlace }]}
        />
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
