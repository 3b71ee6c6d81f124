import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { InputOf, OutputOf } from '../../../actions/index.ts'
import { useMay } from '../../api/session.tsx'
import { useIsKept, useRecordForm } from '../../forms/record-form.ts'
import { isUnread, type Shown, useActUpon } from '../../parts/changes/act-upon.ts'
import { Changed } from '../../parts/changes/changed.tsx'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { useTexts } from '../../texts/settings.tsx'

type RenewAction = 'rotateSecret' | 'rotateApiKey'

interface RenewProps<Id extends RenewAction> {
  readonly action: Id
  readonly id: string
  /** The client or key as it is shown. */
  readonly shown: Shown
  /** What is typed to confirm. */
  readonly word: string
  readonly label: string
  readonly onDone: (answer: OutputOf<Id>) => void
}

/** How long the old one stays valid, in seconds. */
const overlaps = ['0', '3600', '86400', '604800'] as const

/** The button that replaces a secret or a key, with the time for which the old one stays valid. */
export function Renew<Id extends RenewAction>(props: RenewProps<Id>) {
  const { action, id, word, label } = props
  const may = useMay()
  const name = `${action} ${id}`
  const isKept = useIsKept(name)
  const [open, setOpen] = useState(isKept)
  if (!may(action)) return null
  return (
    <>
      <Button size="xs" variant="light" color="red" onClick={() => setOpen(true)} aria-label={`${label}: ${word}`}>
        {label}
      </Button>
      <Dialog title={label} open={open} close={() => setOpen(false)}>
        {open && <RenewForm {...props} name={name} close={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}

type RenewFormProps<Id extends RenewAction> = RenewProps<Id> & {
  readonly name: string
  readonly close: () => void
}

function RenewForm<Id extends RenewAction>(props: RenewFormProps<Id>) {
  const { action, id, shown, word, label, onDone, name, close } = props
  const t = useTexts()
  const { run, isPending, outdated } = useActUpon(action, shown)
  const { form, rest, show } = useRecordForm({ name, initial: { overlap: '86400', typed: '' } })
  const isTyped = form.values.typed === word
  const submit = form.onSubmit(({ overlap }) => {
    if (!isTyped) return
    show(null)
    run({ id, overlap_seconds: Number(overlap) } as unknown as InputOf<Id>, {
      onSuccess: (answer) => {
        close()
        notifications.show({ message: t.common.done, color: 'green' })
        onDone(answer)
      },
      onError: show,
    })
  })
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">{t.renew.text}</Text>
        <NativeSelect
          label={t.renew.overlap}
          data={overlaps.map((value) => ({ value, label: t.renew.overlaps[value] }))}
          {...form.getInputProps('overlap')}
          data-autofocus
        />
        <TextInput label={t.confirm.type(word)} autoComplete="off" {...form.getInputProps('typed')} />
        {outdated === undefined ? <Refusal error={rest} /> : <Changed of={outdated} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t.common.cancel}
          </Button>
          <Button type="submit" color="red" loading={isPending || isUnread(outdated)} disabled={!isTyped}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
