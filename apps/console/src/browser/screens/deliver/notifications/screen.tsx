import type { NotificationPage, NotificationSummary } from '@gatehouse/client'
import { Button, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useFilters } from '../../../api/filters.ts'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Newer } from '../../../parts/changes/newer.tsx'
import { Page } from '../../../parts/page.tsx'
import { useSelection } from '../../../parts/selection.ts'
import { Empty } from '../../../parts/states.tsx'
import { type Column, List, More } from '../../../parts/table.tsx'
import { CopyText } from '../../../parts/values/copy-button.tsx'
import { Id, State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { DeliveryStates } from '../delivery-state.tsx'
import { curlOf } from '../send/snippets.ts'
import { ExportButton } from './export-button.tsx'
import { filterNames, NotificationFilterForm, type NotificationFilters } from './filter-form.tsx'
import { Histogram } from './histogram.tsx'

const pageSize = 50

/** What was accepted, by filters, newest first. */
export function NotificationsScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(filterNames)
  const selection = useSelection()
  const search = filters as InputOf<'listNotifications'>
  const query = new URLSearchParams(search as Record<string, string>)
  const curl = curlOf({ method: 'GET', path: `/v1/notifications${query.size === 0 ? '' : `?${query}`}` })
  const actions = (
    <>
      <CopyText text={curl} label={t.notifications.copyCurl} />
      <ExportButton search={search} selected={selection.keys} />
      {may('send') && (
        <Button component={Link} to="/send">
          {t.sections.send}
        </Button>
      )}
    </>
  )
  return (
    <Page title={t.sections.notifications} lead={t.notifications.lead} actions={actions}>
      <NotificationFilterForm filters={filters} apply={apply} />
      <Histogram filters={filters} />
      <NotificationList key={JSON.stringify(filters)} search={search} filters={filters} selection={selection} />
    </Page>
  )
}

interface NotificationListProps {
  readonly search: InputOf<'listNotifications'>
  readonly filters: NotificationFilters
  readonly selection: ReturnType<typeof useSelection>
}

function NotificationList({ search, filters, selection }: NotificationListProps) {
  const t = useTexts()
  const input = { ...search, limit: pageSize }
  const query = usePages('listNotifications', input)
  const columns = useColumns()
  const rows = query.data?.pages.flatMap(({ items }) => items)
  const isFiltered = Object.keys(filters).length > 0
  return (
    <div className="notification-list">
      <Newer
        action="listNotifications"
        input={input}
        topic="notifications"
        keyOf={({ id }) => id}
        shown={rows && new Set(rows.map(({ id }) => id))}
      />
      <List
        action="listNotifications"
        query={query}
        label={t.sections.notifications}
        keyOf={({ id }) => id}
        selection={selection}
        empty={
          <Empty text={isFiltered ? t.notifications.noneFound : t.notifications.empty}>
            {!isFiltered && <SendOne />}
          </Empty>
        }
        columns={columns}
        more={<SearchedUntil query={query} />}
      />
    </div>
  )
}

function SendOne() {
  const t = useTexts()
  return (
    <Button component={Link} to="/send" variant="default">
      {t.notifications.sendOne}
    </Button>
  )
}

function useColumns(): readonly Column<NotificationSummary>[] {
  const t = useTexts()
  const words = useWords()
  // The same each time, so that "Show more" draws only the rows that come.
  return useMemo(
    () => [
      { label: t.notifications.accepted, render: (row) => <Time at={row.accepted_at} /> },
      {
        label: t.notifications.event,
        render: ({ id, event }) => (
          <Link to="/notifications/$id" params={{ id }}>
            {event}
          </Link>
        ),
      },
      {
        label: t.notifications.user,
        render: ({ user_id: user }) => (
          <Id value={user}>
            <Link to="/users/$id" params={{ id: user }}>
              {user}
            </Link>
          </Id>
        ),
      },
      { label: t.notifications.channels, render: ({ deliveries }) => <DeliveryStates deliveries={deliveries} /> },
      {
        label: t.notifications.priority,
        render: ({ priority }) =>
          priority === 'critical' ? <State tone="careful">{words.priority(priority)}</State> : words.priority(priority),
      },
    ],
    [t, words],
  )
}

/** How far the bounded search looked, and the way on. */
function SearchedUntil({ query }: { query: ReturnType<typeof usePages<'listNotifications'>> }) {
  const t = useTexts()
  const last = query.data?.pages.at(-1) as NotificationPage | undefined
  if (last === undefined) return null
  return (
    <div className="searched" role="note">
      <Text size="sm" c="dimmed">
        {t.notifications.searchedUntil} <Time at={last.searched_until} />
        {last.complete && `. ${t.notifications.complete}`}
      </Text>
      <More query={query} label={t.notifications.continue} />
    </div>
  )
}
