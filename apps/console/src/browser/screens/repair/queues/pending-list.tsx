import { Link } from '@tanstack/react-router'
import type { InputOf, ItemOf } from '../../../../actions/index.ts'
import { usePages } from '../../../api/queries.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Empty } from '../../../parts/states.tsx'
import { type Column, List } from '../../../parts/table.tsx'
import { Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useReadSoon } from '../polled.ts'
import { wordOf } from '../words.ts'
import { UserLink } from './scheduled-list.tsx'
import { WaitingState } from './waiting-state.tsx'

type Pending = ItemOf<'listPending'>

interface PendingListProps {
  readonly kind: 'deferred' | 'aggregating' | 'parked'
  readonly filters: { readonly event?: string }
}

/** What is deferred, gathered or parked, the soonest first, and the way to let it go now. */
export function PendingList({ kind, filters }: PendingListProps) {
  const t = useTexts()
  const query = usePages('listPending', { kind, ...filters } as InputOf<'listPending'>)
  const columns = useColumns()
  const shown = {
    deferred: [columns.due, columns.event, columns.user, columns.channels, columns.reason, columns.state],
    aggregating: [columns.due, columns.event, columns.user, columns.items, columns.state],
    parked: [columns.event, columns.items, columns.reason],
  }[kind]
  return (
    <List
      action="listPending"
      query={query}
      label={t.scheduled.kinds[kind]}
      keyOf={({ id, event }) => id ?? event}
      empty={<Empty text={Object.keys(filters).length === 0 ? t.scheduled.empty[kind] : t.states.noMatch} />}
      columns={[
        ...shown,
        { label: t.common.actions, isAction: true, render: (pending) => <Release pending={pending} /> },
      ]}
    />
  )
}

function useColumns() {
  const t = useTexts()
  return {
    due: { label: t.scheduled.due, render: ({ due_at }) => <Time at={due_at} /> },
    event: { label: t.scheduled.event, render: (pending) => <Event pending={pending} /> },
    user: { label: t.scheduled.user, render: ({ user_id: id }) => id !== undefined && <UserLink id={id} /> },
    channels: { label: t.scheduled.channels, render: ({ channels }) => <Words values={channels ?? []} /> },
    items: { label: t.scheduled.items, render: ({ items }) => items },
    reason: {
      label: t.scheduled.reason,
      render: ({ reason_code }) => wordOf(t.scheduled.reasons, reason_code) ?? reason_code,
    },
    state: {
      label: t.scheduled.state,
      render: ({ due_at, under_way = false }) => <WaitingState dueAt={due_at} isUnderWay={under_way} />,
    },
  } as const satisfies Readonly<Record<string, Column<Pending>>>
}

function Event({ pending: { event, notification_id: id } }: { pending: Pending }) {
  if (id === undefined) return event
  return (
    <Link to="/notifications/$id" params={{ id }}>
      {event}
    </Link>
  )
}

function Release({ pending: { kind, id, event, items = 0, reason_code } }: { pending: Pending }) {
  const t = useTexts()
  const readSoon = useReadSoon('pending.list', 'queue.get')
  if (kind === 'parked')
    return (
      <Act
        action="releaseParked"
        input={{ event, limit: Math.min(items, 10_000) }}
        label={t.scheduled.releaseParked(Math.min(items, 10_000))}
        about={event}
        text={t.scheduled.releaseParkedText}
        done={t.scheduled.released}
        onDone={readSoon}
      />
    )
  // The end of quiet hours is the user's to change.
  if (id === undefined || reason_code === 'quiet_hours') return null
  const isWindow = kind === 'aggregating'
  return (
    <Act
      action="releasePending"
      input={{ id }}
      label={isWindow ? t.scheduled.flush : t.scheduled.release}
      about={event}
      text={isWindow ? t.scheduled.flushText : t.scheduled.releaseText}
      done={isWindow ? t.scheduled.flushed : t.scheduled.released}
      onDone={readSoon}
    />
  )
}
