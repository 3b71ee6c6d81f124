import { Button, Group, Stack } from '@mantine/core'
import { notifications as messages } from '@mantine/notifications'
import { useNavigate } from '@tanstack/react-router'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { isPast, requestOfDraft, type SendDraft } from './draft.ts'
import { withOwnKey } from './own-keys.ts'

/** Sends or schedules what is written; then its histories are shown as they go. */
export function SendButtons({ draft, finish }: { draft: SendDraft; finish: () => void }) {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const send = useAction('send', (event) => withOwnKey(draft.id, event))
  const schedule = useAction('schedule', async ({ fire_at: at, payload }) => ({
    fire_at: at,
    payload: await withOwnKey(draft.id, payload, at),
  }))
  const request = requestOfDraft(draft)
  if (!may('send')) return null
  const submit = () => {
    if (request === undefined || isPast(draft, Date.now())) return
    if (draft.mode === 'now')
      send.mutate(request, {
        onSuccess: ({ id }) => void navigate({ to: '/notifications/$id', params: { id } }),
      })
    else
      schedule.mutate(
        { fire_at: new Date(draft.at).toISOString(), payload: request },
        {
          onSuccess: () => {
            finish()
            messages.show({ message: t.send.scheduled, color: 'green' })
          },
        },
      )
  }
  const isLater = draft.mode === 'later'
  return (
    <Stack gap="sm">
      <Refusal error={isLater ? schedule.error : send.error} />
      <Group>
        <Button
          onClick={submit}
          loading={send.isPending || schedule.isPending}
          disabled={request === undefined || (isLater && draft.at === '') || isPast(draft, Date.now())}
        >
          {isLater ? t.send.schedule : t.send.send}
        </Button>
      </Group>
    </Stack>
  )
}
