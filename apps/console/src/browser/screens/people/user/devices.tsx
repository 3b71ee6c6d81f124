import { Alert, Stack, Text } from '@mantine/core'
import { usePages } from '../../../api/queries.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** The devices that a user gets push messages on. */
export function UserDevices({ id }: { id: string }) {
  const t = useTexts()
  const query = usePages('listDevices', { id })
  const dead = query.data?.pages.flatMap(({ items }) => items).filter((device) => device.dead_at !== undefined) ?? []
  return (
    <Stack gap="sm">
      {dead.length > 0 && <Alert color="yellow">{t.user.deadDevices(dead.length)}</Alert>}
      <List
        action="listDevices"
        query={query}
        label={t.user.devices}
        keyOf={(device) => device.device_id}
        empty={<Empty text={t.user.noDevices} />}
        columns={[
          { label: t.user.device, render: (device) => device.device_id },
          { label: t.user.service, render: ({ service }) => service },
          {
            label: t.users.state,
            render: ({ dead_at: deadAt, dead_reason: reason }) =>
              deadAt === undefined ? (
                <State tone="good">{t.user.deviceAlive}</State>
              ) : (
                <Stack gap={2} align="flex-start">
                  <State tone="bad">
                    {t.user.deviceDead} {reason}
                  </State>
                  <Text size="xs" c="dimmed">
                    {t.user.deadSince} <Time at={deadAt} />
                  </Text>
                </Stack>
              ),
          },
          { label: t.user.registered, render: (device) => <Time at={device.registered_at} /> },
          {
            label: t.common.actions,
            isAction: true,
            render: (device) => (
              <Act
                action="deleteDevice"
                input={{ id, device_id: device.device_id }}
                label={t.user.remove}
                about={device.device_id}
                text={t.user.removeDeviceText}
                done={t.user.deviceRemoved}
              />
            ),
          },
        ]}
      />
    </Stack>
  )
}
