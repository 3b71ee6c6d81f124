import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { readFilters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { EndSelected } from './end-selected.tsx'
import { useSessionColumns } from './session-columns.tsx'

const names = ['user_id', 'client_id', 'address', 'id', 'is_new'] as const
/** The filters by which sessions are ended. */
const endable = ['user_id', 'client_id', 'address'] as const

/** Where users are signed in, and how to end that: one, all of a user, all that the filters select. */
export function SessionsScreen() {
  const t = useTexts()
  const may = useMay()
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
      <form
        key={JSON.stringify(filters)}
        className="panel"
        aria-label={t.audit.filters}
        onSubmit={(event) => {
          event.preventDefault()
          apply(readFilters(names, event.currentTarget))
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput name="user_id" label={t.sessions.user} defaultValue={filters.user_id ?? ''} className="grow" />
          <TextInput
            name="client_id"
            label={t.sessions.client}
            defaultValue={filters.client_id ?? ''}
            className="grow"
          />
          <TextInput name="address" label={t.sessions.address} defaultValue={filters.address ?? ''} className="grow" />
          <NativeSelect
            name="is_new"
            label={t.sessions.place}
            defaultValue={filters.is_new ?? ''}
            data={[
              { value: '', label: t.sessions.anyPlace },
              { value: 'true', label: t.sessions.newPlace },
            ]}
          />
          {filters.id !== undefined && <input type="hidden" name="id" value={filters.id} />}
          <Button type="submit">{t.common.search}</Button>
          {isFiltered && (
            <Button variant="subtle" onClick={() => apply({})}>
              {t.common.clear}
            </Button>
          )}
        </Group>
      </form>
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
