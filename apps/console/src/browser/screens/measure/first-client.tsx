import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { OutputOf } from '../../../actions/index.ts'
import { useAction } from '../../api/queries.ts'
import { useMay, useSession } from '../../api/session.tsx'
import { ShownOnce } from '../../forms/shown-once.tsx'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Snippet } from '../../parts/values/snippet.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** What the first notification is about: the user who is signed in. */
const firstEvent = (user: string) => ({
  event: 'order.shipped',
  user_id: user,
  data: { order_id: '1001', tracking_url: 'https://example.com/track/1001' },
})

/** A client that may send notifications, made here, with its secret and a program that sends the first one. */
export function FirstClient() {
  const t = useTexts()
  const may = useMay()
  const { user, issuer, api_url: baseUrl } = useSession()
  const mutation = useAction('createClient')
  const [made, setMade] = useState<OutputOf<'createClient'>>()
  if (made?.client_secret !== undefined) {
    const { client_id: id, client_secret: secret } = made
    const credential = { kind: 'client', id, scopes: ['write:notifications'] } as const
    const call = { operation: 'notifications.send', input: firstEvent(user) } as const
    return (
      <Stack gap="sm">
        <ShownOnce title={t.start.secret(id)} secret={secret}>
          <Text size="sm">{t.start.secretText}</Text>
        </ShownOnce>
        <Snippet request={{ issuer, baseUrl, credential, call }} />
        <Group>
          <Anchor component={Link} to={`/notifications?user_id=${encodeURIComponent(user)}`}>
            {t.start.seeNotifications}
          </Anchor>
          <Anchor component={Link} to={`/clients/${id}`}>
            {t.clients.open}
          </Anchor>
        </Group>
      </Stack>
    )
  }
  if (!may('createClient')) return null
  const create = () =>
    mutation.mutate(
      {
        client_id: `first-service-${crypto.randomUUID().slice(0, 8)}`,
        client_name: t.start.clientName,
        grant_types: ['client_credentials'],
        scopes: ['write:notifications'],
      },
      { onSuccess: setMade },
    )
  return (
    <Stack gap="sm" align="flex-start">
      <Button size="xs" onClick={create} loading={mutation.isPending}>
        {t.start.makeClient}
      </Button>
      <Refusal error={mutation.error} />
    </Stack>
  )
}
