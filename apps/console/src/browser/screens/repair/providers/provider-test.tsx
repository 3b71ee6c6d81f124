import { Alert, Button, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core'
import { useAction } from '../../../api/queries.ts'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** One message to an address, and what the provider answered. */
export function ProviderTest({ name, channel }: { name: string; channel: string }) {
  const t = useTexts()
  // A push token lets its holder push to the device.
  const secret = channel === 'push' ? (['to'] as const) : []
  const [{ to, service }, write] = useKeptState(`test call of ${name}`, { to: '', service: 'fcm' }, { secret })
  const mutation = useAction('testProvider')
  const { data } = mutation
  return (
    <Stack component="section" gap="sm" aria-labelledby="test" className="panel">
      <Title order={2} id="test">
        {t.providers.test}
      </Title>
      <Text size="sm">{t.providers.testHelp}</Text>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          mutation.mutate({ name, to: to.trim(), ...(channel === 'push' ? { service } : {}) })
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput
            label={t.providers.testTo}
            value={to}
            onChange={(event) => write({ to: event.currentTarget.value })}
            required
            className="grow"
            autoComplete="off"
          />
          {channel === 'push' && (
            <NativeSelect
              label={t.providers.testService}
              value={service}
              onChange={(event) => write({ service: event.currentTarget.value })}
              data={['fcm', 'apns', 'web']}
            />
          )}
          <Button type="submit" variant="default" loading={mutation.isPending}>
            {t.providers.test}
          </Button>
        </Group>
      </form>
      <Refusal error={mutation.error} />
      {data !== undefined && (
        <Alert color={data.result === 'accepted' ? 'green' : 'red'} title={t.providers.testResult} role="status">
          {data.result === 'accepted'
            ? t.providers.testAccepted(data.duration_ms)
            : t.providers.testRefused(data.result, data.duration_ms)}{' '}
          {data.code} {data.reason} {data.provider_message_id}
        </Alert>
      )}
    </Stack>
  )
}
