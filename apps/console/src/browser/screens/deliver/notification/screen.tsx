import type { Notification } from '@gatehouse/client'
import { Button, Group, Stack, Tabs } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useLive } from '../../../api/live.ts'
import { useRead } from '../../../api/queries.ts'
import { useSession } from '../../../api/session.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer } from '../../../parts/states.tsx'
import { Facts, Id, Json, State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { wordOf } from '../word-of.ts'
import { NotificationActions } from './actions.tsx'
import { historiesOf } from './channel-history.ts'
import { NotificationContent } from './content.tsx'
import { HistoryView } from './history-view.tsx'
import { Related } from './related.tsx'
import { NotificationRequest } from './request.tsx'
import { RevealRecipient } from './reveal.tsx'

const tabs = ['histories', 'content', 'request', 'raw'] as const
/** Events come several at once: it is read again when they have. */
const settleMs = 120

/** What happened to a notification: a history for each channel, from the decision to the last report, as it happens. */
export function NotificationScreen() {
  const t = useTexts()
  const { id } = useParams({ strict: false }) as { id: string }
  const query = useRead('readNotification', { id })
  const live = useLiveNotification(id, query.refetch)
  const { data } = query
  return (
    <Page
      title={data?.event ?? t.sections.notification}
      actions={data === undefined ? undefined : <NotificationActions notification={data} />}
    >
      <Answer action="readNotification" query={query}>
        {(notification) => (
          <Stack gap="lg">
            <NotificationFacts notification={notification} live={live} />
            <NotificationTabs notification={notification} />
          </Stack>
        )}
      </Answer>
    </Page>
  )
}

/** Reads a notification again when something happens to it. Returns whether that is heard of at once. */
function useLiveNotification(id: string, read: () => unknown): boolean {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return useLive(`notification:${id}`, () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(read, settleMs)
  })
}

function NotificationFacts({ notification, live }: { notification: Notification; live: boolean }) {
  const t = useTexts()
  const words = useWords()
  const { scopes } = useSession()
  const { id, user_id: userId, event, priority, dedup_key, accepted_at, expires_at, timeline } = notification
  const { source } = (timeline.find(({ what }) => what === 'accepted')?.detail ?? {}) as { source?: string }
  return (
    <Stack className="panel" gap="md">
      <Facts
        facts={[
          [t.users.id, <Id key="id" value={id} />],
          [
            t.notification.user,
            <Id key="user" value={userId}>
              <Link to="/users/$id" params={{ id: userId }}>
                {userId}
              </Link>
            </Id>,
          ],
          [t.notification.event, event],
          [t.notification.priority, words.priority(priority)],
          [t.notification.accepted, <Time key="accepted" at={accepted_at} />],
          [t.notification.source, source && wordOf(t.notification.sources, source)],
          [t.notification.dedupKey, dedup_key && <Id key="dedup" value={dedup_key} />],
          [t.notification.expires, expires_at && <Time key="expires" at={expires_at} />],
        ]}
      />
      <Group gap="sm">
        <State tone={live ? 'good' : 'neutral'}>{live ? t.common.live : t.common.polling}</State>
        <Button component={Link} to="/why" search={{ event, user: userId } as never} size="xs" variant="default">
          {t.notification.why}
        </Button>
        {!scopes.includes('read:personal-data') && <RevealRecipient userId={userId} />}
      </Group>
      <Related notification={notification} />
    </Stack>
  )
}

function NotificationTabs({ notification }: { notification: Notification }) {
  const t = useTexts()
  const [{ tab: chosen }, open] = useFilters(['tab'])
  const tab = tabs.find((name) => name === chosen) ?? 'histories'
  const histories = historiesOf(notification.deliveries, notification.timeline)
  return (
    <Tabs value={tab} onChange={(next) => open({ tab: next ?? 'histories' })} keepMounted={false}>
      <Tabs.List mb="md">
        {tabs.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {t.notification.tabs[name]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="histories">
        <Stack gap="md" aria-live="polite">
          {histories.map((history) => (
            <HistoryView
              key={history.channel ?? ''}
              history={history}
              histories={histories}
              notification={notification}
            />
          ))}
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="content">
        <NotificationContent id={notification.id} />
      </Tabs.Panel>
      <Tabs.Panel value="request">
        <NotificationRequest notification={notification} />
      </Tabs.Panel>
      <Tabs.Panel value="raw">
        <Json label={t.notification.raw} value={notification} />
      </Tabs.Panel>
    </Tabs>
  )
}
