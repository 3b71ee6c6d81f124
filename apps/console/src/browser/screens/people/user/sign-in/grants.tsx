import { Link } from '@tanstack/react-router'
import { useRead } from '../../../../api/queries.ts'
import { Act } from '../../../../parts/changes/act.tsx'
import { Answer, Empty } from '../../../../parts/states.tsx'
import { Rows } from '../../../../parts/table.tsx'
import { Time, Words } from '../../../../parts/values/values.tsx'
import { useTexts } from '../../../../texts/settings.tsx'
import { browserOf } from '../../browser-name.ts'

/** The access that clients have on devices. */
export function UserGrants({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('listGrants', { id })
  return (
    <Answer action="listGrants" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.user.noGrants} />
        ) : (
          <Rows
            label={t.user.grants}
            rows={items}
            keyOf={(grant) => grant.id}
            columns={[
              {
                label: t.sections.client,
                render: (grant) => (
                  <Link to="/clients/$id" params={{ id: grant.client_id }}>
                    {grant.client_id}
                  </Link>
                ),
              },
              { label: t.user.browser, render: (grant) => browserOf(grant.user_agent) },
              { label: t.clients.scopes, render: ({ scopes }) => <Scopes values={scopes} /> },
              { label: t.user.granted, render: (grant) => <Time at={grant.created_at} /> },
              { label: t.user.seen, render: (grant) => <Time at={grant.last_used_at} /> },
              {
                label: t.common.actions,
                isAction: true,
                render: (grant) => (
                  <Act
                    action="endGrant"
                    input={{ id, grant_id: grant.id }}
                    label={t.user.end}
                    about={`${grant.client_id} ${grant.id}`}
                    text={t.user.endGrantText(grant.client_id)}
                    done={t.user.grantEnded}
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

const few = 4

/** The first scopes; the others on demand. */
function Scopes({ values }: { values: readonly string[] }) {
  const t = useTexts()
  if (values.length <= few) return <Words values={values} />
  return (
    <details>
      <summary>{t.user.scopeCount(values.length)}</summary>
      <Words values={values} />
    </details>
  )
}
