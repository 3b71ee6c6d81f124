import { Button, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { InputOf } from '../../../../actions/index.ts'
import { useFilters } from '../../../api/filters.ts'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { Page } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

const names = ['q', 'grant_type', 'scope'] as const
const grants = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code',
] as const

/** The registered clients, and the way to a new one. */
export function ClientsScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const query = usePages('listClients', filters as InputOf<'listClients'>)
  const create = may('createClient') && <NewButton />
  const isFiltered = Object.keys(filters).length > 0
  return (
    <Page title={t.sections.clients} lead={t.clients.lead} actions={create}>
      <FilterForm screen="/clients" names={names} filters={filters} apply={apply}>
        <TextFilter name="q" label={t.clients.search} className="grow" />
        <ChoiceFilter
          name="grant_type"
          label={t.clients.grant}
          every={t.clients.anyGrant}
          data={grants.map((value) => ({ value, label: shortGrant(value) }))}
        />
        <TextFilter name="scope" label={t.clients.scope} w={180} />
      </FilterForm>
      <List
        action="listClients"
        query={query}
        label={t.sections.clients}
        keyOf={(client) => client.client_id}
        empty={<Empty text={isFiltered ? t.states.noMatch : t.clients.empty}>{!isFiltered && create}</Empty>}
        columns={[
          {
            label: t.clients.client,
            render: ({ client_id: id, client_name: name }) => (
              <Stack gap={0}>
                <Link to="/clients/$id" params={{ id }}>
                  {name ?? id}
                </Link>
                <span className="dim small">{id}</span>
              </Stack>
            ),
          },
          { label: t.clients.method, render: (client) => client.token_endpoint_auth_method ?? t.clients.anyMethod },
          {
            label: t.clients.grants,
            render: (client) => <Words values={(client.grant_types ?? []).map(shortGrant)} />,
          },
          { label: t.clients.plan, render: ({ plan }) => plan ?? <span className="dim">{t.common.none}</span> },
          { label: t.clients.lastUsed, render: (client) => <LastUse at={client.last_used_at} /> },
        ]}
      />
    </Page>
  )
}

function NewButton() {
  const t = useTexts()
  return (
    <Button component={Link} to="/new-client">
      {t.clients.create}
    </Button>
  )
}

/** When something was used last; never is said. */
export function LastUse({ at }: { at: string | undefined }) {
  const t = useTexts()
  return at === undefined ? <span className="dim">{t.common.never}</span> : <Time at={at} />
}

/** A grant type without the prefix of its URN. */
export function shortGrant(type: string): string {
  return type.replace(/^urn:ietf:params:oauth:grant-type:/, '')
}
