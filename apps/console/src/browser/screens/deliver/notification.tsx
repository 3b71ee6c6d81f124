import type { Notification } from '@gatehouse/client'
import { Code, Group, Stack, Title } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useRead } from '../../api/queries.ts'
import type { TimelineEntry } from '../../api/records.ts'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { Facts, Id, Json, State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { type ChannelTimeline, partByChannel, toneOf } from './timeline.ts'

/** What happened to a notification: a part for each channel, from the decision to the last report. */
export function NotificationScreen() {
  const t = useTexts()
  const { id } = useParams({ strict: false }) as { id: string }
  const query = useRead('readNotification', { id })
  return (
    <Page title={query.data?.event ?? t.sections.notification}>
      <Answer action="readNotification" query={query}>
        {(notification) => <NotificationParts notification={notification} />}
      </Answer>
    </Page>
  )
}

function NotificationParts({ notification }: { notification: Notification }) {
  const t = useTexts()
  const { id, user_id: userId, event, priority, dedup_key, accepted_at, expires_at } = notification
  return (
    <Stack gap="lg">
      <div className="panel">
        <Facts
          facts={[
            [t.users.id, <Id key="id" value={id} />],
            [t.notification.event, event],
            [
              t.notification.user,
              <Link key="user" to="/users/$id" params={{ id: userId }}>
                {userId}
              </Link>,
            ],
            [t.notification.priority, priority],
            [t.notification.dedupKey, dedup_key && <Id key="dedup" value={dedup_key} />],
            [t.notification.accepted, <Time key="accepted" at={accepted_at} />],
            [t.notification.expires, expires_at && <Time key="expires" at={expires_at} />],
          ]}
        />
      </div>
      {partByChannel(notification.deliveries, notification.timeline).map((part) => (
        <ChannelPart key={part.channel ?? ''} part={part} />
      ))}
      <details className="panel">
        <summary>{t.notification.raw}</summary>
        <Json label={t.notification.raw} value={notification} />
      </details>
    </Stack>
  )
}

function ChannelPart({ part: { channel, delivery, entries } }: { part: ChannelTimeline }) {
  const t = useTexts()
  return (
    <Stack component="section" className="panel marked" gap="sm">
      <Group gap="sm">
        <Title order={2}>{channel ?? t.notification.wholeNotification}</Title>
        {delivery !== undefined && <State tone={toneOf(delivery)}>{delivery.state ?? delivery.outcome}</State>}
      </Group>
      {delivery !== undefined && (
        <Facts
          facts={[
            [t.notification.outcome, delivery.outcome],
            [t.notification.provider, delivery.provider],
            [t.notification.ended, delivery.ended],
          ]}
        />
      )}
      <ol className="timeline" aria-label={t.notification.timeline}>
        {entries.map((entry) => (
          <li key={`${entry.at} ${entry.what} ${JSON.stringify(entry.detail)}`}>
            <Entry entry={entry} />
          </li>
        ))}
      </ol>
    </Stack>
  )
}

function Entry({ entry: { at, what, detail = {} } }: { entry: TimelineEntry }) {
  return (
    <>
      <Group gap="sm">
        <Time at={at} />
        <strong>{what.replaceAll('_', ' ')}</strong>
      </Group>
      <div className="details">
        {Object.entries(detail).map(([name, value]) => (
          <span key={name}>
            <span className="dim">{name.replaceAll('_', ' ')}</span>{' '}
            {typeof value === 'string' || typeof value === 'number' ? value : <Code>{JSON.stringify(value)}</Code>}
          </span>
        ))}
      </div>
    </>
  )
}
