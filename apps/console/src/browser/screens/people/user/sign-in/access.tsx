import { Link } from '@tanstack/react-router'
import { useRead } from '../../../../api/queries.ts'
import { Act } from '../../../../parts/changes/act.tsx'
import { Answer, Empty } from '../../../../parts/states.tsx'
import { Rows } from '../../../../parts/table.tsx'
import { Time, Words } from '../../../../parts/values/values.tsx'
import { useTexts } from '../../../../texts/settings.tsx'

/** The clients that a user gave access. */
export function UserAccess({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('listConsents', { id })
  return (
    <Answer action="listConsents" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.user.noConsents} />
        ) : (
          <Rows
            label={t.user.access}
            rows={items}
            keyOf={(consent) => consent.client_id}
            columns={[
              {
                label: t.sections.client,
                render: (consent) => (
                  <Link to="/clients/$id" params={{ id: consent.client_id }}>
                    {consent.client_id}
                  </Link>
                ),
              },
              { label: t.clients.scopes, render: ({ scopes }) => <Words values={scopes} /> },
              { label: t.user.granted, render: (consent) => <Time at={consent.granted_at} /> },
              {
                label: t.common.actions,
                isAction: true,
                render: (consent) => (
                  <Act
                    action="withdrawConsent"
                    input={{ id, client_id: consent.client_id }}
                    label={t.user.withdraw}
                    about={consent.client_id}
                    done={t.user.withdrawn}
                  />
                ),
              },
            ]}
          />
        )
      }
    </Answer>
  )
}
