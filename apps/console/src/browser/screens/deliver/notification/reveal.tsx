import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Says that personal data is masked, and shows the addresses of a user for a reason, to those who may. */
export function RevealRecipient({ userId }: { userId: string }) {
  const t = useTexts()
  const may = useMay()
  const [open, setOpen] = useState(false)
  const [reason, setReason] = useState('')
  const reveal = useAction('revealRecipient')
  const shown = reveal.data
  return (
    <>
      <Text size="sm" c="dimmed">
        {t.notification.masked}
      </Text>
      {shown !== undefined && <strong>{[shown.email, shown.phone_number].filter(Boolean).join(' · ')}</strong>}
      {may('revealRecipient') && shown === undefined && (
        <Button variant="default" size="xs" onClick={() => setOpen(true)}>
          {t.notification.reveal}
        </Button>
      )}
      <Dialog title={t.notification.reveal} open={open} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const input = { user_id: userId, fields: ['email', 'phone_number'] as const, reason }
            reveal.mutate(input, { onSuccess: () => setOpen(false) })
          }}
        >
          <Stack>
            <TextInput
              label={t.user.reason}
              description={t.user.revealText}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              required
              minLength={3}
              maxLength={500}
              data-autofocus
            />
            <Refusal error={reveal.error} />
            <Group justify="flex-end">
              <Button type="submit" loading={reveal.isPending}>
                {t.notification.reveal}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
