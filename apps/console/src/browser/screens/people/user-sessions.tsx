import { useRead } from '../../api/queries.ts'
import { Act } from '../../parts/act.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Rows } from '../../parts/table.tsx'
import { Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** Where a user is signed in. */
export function UserSessions({ id }: { id: string }) {
  const t = useTexts()
  const query = useRead('listSessions', { id })
  return (
    <Answer action="listSessions" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.user.noSessions} />
        ) : (
          <Rows
            label={t.user.sessions}
            rows={items}
            keyOf={(session) => session.id}
            columns={[
              { label: t.user.browser, render: (session) => session.user_agent },
              { label: t.user.address, render: ({ address }) => address },
              { label: t.user.since, render: (session) => <Time at={session.created_at} /> },
              { label: t.user.seen, render: (session) => <Time at={session.seen_at} /> },
              {
                label: t.common.actions,
                isAction: true,
                render: (session) => (
                  <Act
                    action="endSession"
                    input={{ id, session_id: session.id }}
                    label={t.user.end}
                    about={session.user_agent}
                    done={t.user.ended}
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
