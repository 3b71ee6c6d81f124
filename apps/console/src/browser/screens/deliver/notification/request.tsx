import type { Notification } from '@gatehouse/client'
import { Button, Group, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { CopyText } from '../../../parts/values/copy-button.tsx'
import { Json } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { curlOf } from '../send/snippets.ts'
import { wordOf } from '../word-of.ts'

/** The event as it was accepted, as far as it is kept and may be seen, and the way to send one like it. */
export function NotificationRequest({ notification }: { notification: Notification }) {
  const t = useTexts()
  const { id, event, user_id, dedup_key, timeline } = notification
  const query = useRead('readContent', { id })
  const chosen = timeline.find(({ what }) => what === 'channels')?.detail as
    | { readonly because?: string; readonly channels?: readonly string[] }
    | undefined
  const channels = chosen?.because === 'request' ? { channels: chosen.channels } : {}
  return (
    <Answer action="readContent" query={query}>
      {({ data, data_source: source }) => {
        const request = { event, user_id, ...(data === undefined ? {} : { data }), ...channels }
        const whole = { ...request, ...(dedup_key === undefined ? {} : { dedup_key }) }
        return (
          <Stack gap="sm">
            <Text size="sm">{wordOf(t.notification.dataSources, source)}</Text>
            <Json label={t.notification.tabs.request} value={whole} />
            {source === 'stored' && (
              <Group gap="xs">
                <CopyText
                  label={t.notifications.copyCurl}
                  text={curlOf({ method: 'POST', path: '/v1/notify', body: request })}
                />
                <Button
                  component={Link}
                  to="/send"
                  search={{ event, user: user_id, like: id } as never}
                  variant="default"
                >
                  {t.notification.sendChanged}
                </Button>
              </Group>
            )}
          </Stack>
        )
      }}
    </Answer>
  )
}
