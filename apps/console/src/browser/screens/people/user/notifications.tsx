import { Button, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { usePages } from '../../../api/queries.ts'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { toneOf } from '../../deliver/timeline.ts'
import { codeText } from './reach.tsx'

/** What was sent to a user, and why something was not. */
export function UserNotifications({ id }: { id: string }) {
  const t = useTexts()
  const query = usePages('listNotificationsOfUser', { user_id: id })
  return (
    <List
      action="listNotificationsOfUser"
      query={query}
      label={t.user.notifications}
      keyOf={(notification) => notification.id}
      empty={<Empty text={t.user.noNotifications} />}
      columns={[
        {
          label: t.audit.at,
          render: (notification) => (
            <Link to="/notifications/$id" params={{ id: notification.id }}>
              <Time at={notification.accepted_at} />
            </Link>
          ),
        },
        { label: t.audit.type, render: ({ event }) => event },
        {
          label: t.user.outcome,
          render: ({ deliveries }) => (
            <Group gap={6}>
              {deliveries.map((delivery) => (
                <State key={`${delivery.channel} ${delivery.id}`} tone={toneOf(delivery)}>
                  {delivery.channel}:{' '}
                  {codeText(
                    t.user.outcomes,
                    delivery.ended ?? (delivery.outcome === 'queued' ? (delivery.state ?? 'queued') : delivery.outcome),
                  )}
                </State>
              ))}
            </Group>
          ),
        },
        {
          label: t.common.actions,
          isAction: true,
          render: ({ event }) => (
            <Button
              size="xs"
              variant="default"
              component={Link}
              to="/why"
              search={{ event, user: id } as never}
              aria-label={`${t.sections.why} ${event}`}
            >
              {t.sections.why}
            </Button>
          ),
        },
      ]}
    />
  )
}
