import type { Session } from '@gatehouse/client'
import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Act } from '../../parts/changes/act.tsx'
import type { Column } from '../../parts/table.tsx'
import { Masked } from '../../parts/values/masked.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { browserOf } from './browser-name.ts'

/** The columns of sessions; with the user, where they are of several. */
export function useSessionColumns(ofSeveral: boolean): readonly Column<Session>[] {
  const t = useTexts()
  const user: Column<Session> = {
    label: t.sections.user,
    render: (session) => (
      <Link to="/users/$id" params={{ id: session.user_id }} search={{ tab: 'sessions' }}>
        {session.user_id}
      </Link>
    ),
  }
  return [
    ...(ofSeveral ? [user] : []),
    {
      label: t.user.browser,
      render: (session) => (
        <Group gap={6}>
          <span title={session.user_agent}>{browserOf(session.user_agent) || t.user.unknownBrowser}</span>
          {session.is_own && <State tone="good">{t.user.ownSession}</State>}
          {session.new_device && <State tone="careful">{t.user.newDevice}</State>}
        </Group>
      ),
    },
    {
      label: t.user.address,
      render: (session) => (
        <Group gap={6} className="address">
          <Masked>{session.address}</Masked>
          {session.new_address && <State tone="careful">{t.user.newAddress}</State>}
        </Group>
      ),
    },
    { label: t.user.signedInBy, render: ({ amr }) => amr.join(', ') },
    { label: t.sections.clients, render: ({ clients }) => clients.join(', ') },
    { label: t.user.since, render: (session) => <Time at={session.created_at} /> },
    { label: t.user.seen, render: (session) => <Time at={session.seen_at} /> },
    {
      label: t.common.actions,
      isAction: true,
      render: (session) => (
        <Act
          action="endSession"
          input={{ id: session.user_id, session_id: session.id }}
          label={t.user.end}
          about={`${session.user_id}, ${browserOf(session.user_agent)}`}
          {...(session.is_own ? { text: t.user.endOwnText } : {})}
          done={t.user.ended}
        />
      ),
    },
  ]
}
