import { Link } from '@tanstack/react-router'
import { usePages } from '../../api/queries.ts'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The registered clients. */
export function ClientsScreen() {
  const t = useTexts()
  const query = usePages('listClients')
  return (
    <Page title={t.sections.clients} lead={t.clients.lead}>
      <List
        action="listClients"
        query={query}
        label={t.sections.clients}
        keyOf={(client) => client.client_id}
        empty={<Empty text={t.clients.empty} />}
        columns={[
          {
            label: t.users.id,
            render: ({ client_id: id }) => (
              <Link to="/clients/$id" params={{ id }}>
                {id}
              </Link>
            ),
          },
          { label: t.clients.name, render: (client) => client.client_name },
          {
            label: t.clients.method,
            render: (client) => client.token_endpoint_auth_method ?? t.clients.anyMethod,
          },
          {
            label: t.clients.grants,
            render: (client) => <Words values={(client.grant_types ?? []).map(shortGrant)} />,
          },
          { label: t.clients.plan, render: ({ plan }) => plan },
        ]}
      />
    </Page>
  )
}

/** A grant type without the prefix of its URN. */
export function shortGrant(type: string): string {
  return type.replace(/^urn:ietf:params:oauth:grant-type:/, '')
}
