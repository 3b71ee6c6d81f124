import { Group, Stack, Table, Text, Title } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

const channels = ['push', 'email', 'sms', 'in-app'] as const

/** Which event types may use which channels, and whose word that is: the user's, that for all events, or the default. */
export function UserPreferences({ id }: { id: string }) {
  const t = useTexts()
  const choices = useRead('readChoices', { id })
  const preferences = useRead('listPreferences', { id, limit: 200 })
  const own = new Map(preferences.data?.items.map((one) => [one.event_type, one]))
  const quiet = own.get('*')?.quiet_hours
  const sourceOf = (event: string) => {
    if (own.get(event)?.channels !== undefined) return t.user.sourceUser
    return own.get('*')?.channels === undefined ? t.user.sourceDefault : t.user.sourceAll
  }
  return (
    <Answer action="readChoices" query={choices}>
      {({ event_types: types, unsubscribed }) => (
        <Stack>
          <Group className="panel" gap="xl">
            <div>
              <Text size="xs" c="dimmed">
                {t.user.quietHours}
              </Text>
              <Text size="sm">{quiet === undefined ? t.user.noQuietHours : `${quiet.start} – ${quiet.end}`}</Text>
            </div>
            {unsubscribed && <State tone="careful">{t.user.unsubscribed}</State>}
          </Group>
          {types.length === 0 ? (
            <Empty text={t.user.noEventTypes} />
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
            <section className="panel scrolls" aria-label={t.user.preferences} tabIndex={0}>
              <Title order={2} mb="xs">
                {t.user.preferences}
              </Title>
              <Table aria-label={t.user.preferences}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">{t.audit.type}</Table.Th>
                    {channels.map((channel) => (
                      <Table.Th key={channel} scope="col">
                        {t.user.channels[channel]}
                      </Table.Th>
                    ))}
                    <Table.Th scope="col">{t.user.source}</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {types.map(({ event, title, critical, channels: some }) => (
                    <Table.Tr key={event}>
                      <Table.Th scope="row" fw={400}>
                        {title}
                        <Text size="xs" c="dimmed">
                          {event}
                        </Text>
                      </Table.Th>
                      {channels.map((channel) => (
                        <Table.Td key={channel}>
                          <OnOff on={some.find((one) => one.channel === channel)?.on} />
                        </Table.Td>
                      ))}
                      <Table.Td>{critical ? t.user.sourceCritical : sourceOf(event)}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </section>
          )}
        </Stack>
      )}
    </Answer>
  )
}

function OnOff({ on }: { on: boolean | undefined }) {
  const t = useTexts()
  if (on === undefined) return <span className="dim">–</span>
  return <State tone={on ? 'good' : 'neutral'}>{on ? t.user.on : t.user.off}</State>
}
