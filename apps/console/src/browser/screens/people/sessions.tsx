import { Button, Group, TextInput } from '@mantine/core'
import { readFilters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay, useSeesPersonalData } from '../../api/session.tsx'
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
  const seesPersonalData = useSeesPersonalData()
  const [filters, apply] = useFilters(names)
  const query = usePages('findSessions', filters)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Page
      title={t.sections.sessions}
      lead={t.sessions.lead}
      actions={isFiltered && may('endSelectedSessions') ? <EndSelected filters={filters} /> : undefined}
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
          {seesPersonalData && (
            <TextInput
              name="address"
              label={t.sessions.address}
              defaultValue={filters.address ?? ''}
              className="grow"
            />
          )}
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
