import { Link, useNavigate } from '@tanstack/react-router'
import { usePages } from '../../api/queries.ts'
import { OpenById } from '../../parts/open-by-id.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { LockState } from './lock-state.tsx'

/** The accounts, page by page, and a way to one by its id. */
export function UsersScreen() {
  const t = useTexts()
  const navigate = useNavigate()
  const query = usePages('listUsers')
  return (
    <Page title={t.sections.users} lead={t.users.lead}>
      <OpenById
        label={t.users.find}
        button={t.users.open}
        onOpen={(id) => void navigate({ to: '/users/$id', params: { id } })}
      />
      <List
        action="listUsers"
        query={query}
        label={t.sections.users}
        keyOf={({ id }) => id}
        empty={<Empty text={t.users.empty} />}
        columns={[
          {
            label: t.users.id,
            render: ({ id }) => (
              <Link to="/users/$id" params={{ id }}>
                {id}
              </Link>
            ),
          },
          { label: t.users.email, render: ({ email }) => email ?? t.common.none },
          { label: t.users.plan, render: ({ plan }) => plan },
          { label: t.users.roles, render: ({ roles }) => <Words values={roles} /> },
          { label: t.users.state, render: ({ locked }) => <LockState locked={locked} /> },
          { label: t.users.created, render: (user) => <Time at={user.created_at} /> },
        ]}
      />
    </Page>
  )
}
