import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { Filters } from '../../api/filters.ts'
import { useAction } from '../../api/queries.ts'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** What sessions are filtered by. */
export type SessionFilters = Filters<'user_id' | 'client_id' | 'address'>

/** Ends the sessions that the filters select, after a trial run whose number has to be typed. */
export function EndSelected({ filters }: { filters: SessionFilters }) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const trial = useAction('endSelectedSessions')
  const mutation = useAction('endSelectedSessions')
  const count = trial.data === undefined ? undefined : trial.data.matched - trial.data.skipped
  const start = () => {
    setTyped('')
    mutation.reset()
    trial.mutate({ ...filters, dry_run: true })
    setOpen(true)
  }
  return (
    <>
      <Button variant="light" color="red" onClick={start}>
        {t.sessions.endSelected}
      </Button>
      <Dialog title={t.sessions.endSelected} open={open} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            mutation.mutate(filters, {
              onSuccess: ({ ended, more }) => {
                setOpen(false)
                notifications.show({ message: t.sessions.endedSelected(ended, more), color: 'green' })
              },
            })
          }}
        >
          <Stack>
            {trial.data !== undefined && (
              <>
                <Text size="sm">{t.sessions.selected(count ?? 0, trial.data.skipped, trial.data.more)}</Text>
                <TextInput
                  label={t.confirm.type(String(count))}
                  value={typed}
                  onChange={(event) => setTyped(event.currentTarget.value)}
                  autoComplete="off"
                  inputMode="numeric"
                />
              </>
            )}
            <Refusal error={trial.error ?? mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {t.common.cancel}
              </Button>
              <Button
                type="submit"
                color="red"
                loading={trial.isPending || mutation.isPending}
                disabled={count === undefined || count === 0 || typed !== String(count)}
              >
                {t.sessions.endSelected}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
