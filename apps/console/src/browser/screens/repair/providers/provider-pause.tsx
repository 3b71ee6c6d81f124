import { PreconditionFailedError, type Provider } from '@gatehouse/client'
import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMay } from '../../../api/session.tsx'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { useProviderPause } from './provider-changes.ts'

const hourMs = 3_600_000

/** Pauses a provider for a while, or resumes it. */
export function ProviderPause({ provider }: { provider: Provider }) {
  const t = useTexts()
  const may = useMay()
  const { name, state, paused_until: wasPausedUntil } = provider
  const [{ isOpen, hours }, write] = useKeptState(`pause of ${name}`, { isOpen: false, hours: '1' })
  const setOpen = (open: boolean) => write({ isOpen: open })
  const mutation = useProviderPause(name)
  if (!may('pauseProvider')) return null
  const change = (kind: 'pause' | 'resume') => {
    const until = hours === '' ? {} : { until: new Date(Date.now() + Number(hours) * hourMs).toISOString() }
    mutation.mutate(
      { kind, wasPausedUntil, ...(kind === 'pause' ? until : {}) },
      {
        onSuccess: () => {
          setOpen(false)
          notifications.show({ message: kind === 'pause' ? t.providers.paused : t.providers.resumed, color: 'green' })
        },
        onError: (error) => {
          if (!(error instanceof PreconditionFailedError)) return
          setOpen(false)
          notifications.show({ message: t.providers.conflict, color: 'red' })
        },
      },
    )
  }
  if (state === 'paused')
    return (
      <Button
        size="xs"
        variant="default"
        loading={mutation.isPending}
        onClick={() => change('resume')}
        aria-label={`${t.providers.resume}: ${name}`}
      >
        {t.providers.resume}
      </Button>
    )
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)} aria-label={`${t.providers.pause}: ${name}`}>
        {t.providers.pause}
      </Button>
      <Dialog title={`${t.providers.pauseTitle}: ${name}`} open={isOpen} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            change('pause')
          }}
        >
          <Stack>
            <Text size="sm">{t.providers.stateHelp.paused}</Text>
            <NativeSelect
              label={t.providers.pauseHours}
              value={hours}
              onChange={(event) => write({ hours: event.currentTarget.value })}
              data={Object.entries(t.providers.pauseChoices).map(([value, label]) => ({ value, label }))}
              data-autofocus
            />
            <Refusal error={mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {t.common.cancel}
              </Button>
              <Button type="submit" loading={mutation.isPending}>
                {t.providers.pause}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
