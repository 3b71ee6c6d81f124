import type { Notification } from '@gatehouse/client'
import { Button, Group, Stack, Text } from '@mantine/core'
import { notifications as messages } from '@mantine/notifications'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { ChannelChoice, type ChannelName, channelNames } from '../channel-choice.tsx'
import { isWaiting } from './channel-history.ts'

/** What can be done with a notification: cancel what waits, send it again. */
export function NotificationActions({ notification }: { notification: Notification }) {
  const t = useTexts()
  const { id, deliveries } = notification
  return (
    <>
      {isWaiting(deliveries) && (
        <Act
          action="cancelNotification"
          input={{ id }}
          label={t.notification.cancel}
          text={t.notification.cancelText}
          done={t.notification.cancelled}
          size="sm"
        />
      )}
      <Resend notification={notification} />
    </>
  )
}

function Resend({ notification: { id, deliveries } }: { notification: Notification }) {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const own = channelNames.filter((name) => deliveries.some(({ channel }) => channel === name))
  const [channels, setChannels] = useState<ChannelName[]>(own)
  /** The key of this dialog: pressed twice it sends once. */
  const [key, setKey] = useState<string>()
  const resend = useAction('resendNotification')
  if (!may('resendNotification')) return null
  const submit = () =>
    resend.mutate(
      { id, channels, ...(key === undefined ? {} : { dedup_key: key }) },
      {
        onSuccess: (acceptance) => {
          setKey(undefined)
          messages.show({ message: t.notification.resent, color: 'green' })
          void navigate({ to: '/notifications/$id', params: { id: acceptance.id } })
        },
      },
    )
  return (
    <>
      <Button variant="default" onClick={() => setKey(crypto.randomUUID())}>
        {t.notification.resend}
      </Button>
      <Dialog title={t.notification.resend} open={key !== undefined} close={() => setKey(undefined)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            submit()
          }}
        >
          <Stack>
            <Text>{t.notification.resendText}</Text>
            <ChannelChoice label={t.send.channels} value={channels} onChange={setChannels} />
            <Refusal error={resend.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setKey(undefined)}>
                {t.common.cancel}
              </Button>
              <Button type="submit" loading={resend.isPending} disabled={channels.length === 0}>
                {t.notification.resend}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
