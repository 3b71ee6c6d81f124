import { Button, Group, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../../api/queries.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Opens the notification of a message by the id that its provider gave it. */
export function FindMessage() {
  const t = useTexts()
  const navigate = useNavigate()
  const [id, setId] = useState('')
  const search = useAction('findDeliveries')
  const find = () =>
    search.mutate(
      { provider_message_id: id.trim() },
      {
        onSuccess: ({ items: [first] }) => {
          if (first) void navigate({ to: '/notifications/$id', params: { id: first.notification_id } })
        },
      },
    )
  return (
    <details>
      <summary>{t.notifications.findMessage}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (id.trim() !== '') find()
        }}
      >
        <Group align="flex-end" gap="xs" mt="xs">
          <TextInput
            label={t.notifications.messageId}
            description={t.notifications.findMessageLead}
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
            className="grow"
          />
          <Button type="submit" variant="default" loading={search.isPending}>
            {t.common.search}
          </Button>
        </Group>
        {search.data?.items.length === 0 && (
          <Text size="sm" mt="xs" role="status">
            {t.notifications.notFound}
          </Text>
        )}
        <Refusal error={search.error} />
      </form>
    </details>
  )
}
