import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { useAction } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { useTexts } from '../../texts/settings.tsx'

const optional = ['address', 'scope', 'detail'] as const

/** The button that adds a suppression by hand, with its form. */
export function AddSuppression() {
  const t = useTexts()
  const [isOpen, setOpen] = useState(false)
  const mutation = useAction('addSuppression')
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const given = optional.flatMap((name) => (text(name) === '' ? [] : [[name, text(name)] as const]))
    const input = { user_id: text('user_id'), channel: text('channel'), ...Object.fromEntries(given) }
    mutation.mutate(input as InputOf<'addSuppression'>, {
      onSuccess: () => {
        setOpen(false)
        notifications.show({ message: t.suppressions.added, color: 'green' })
      },
    })
  }
  return (
    <>
      <Button
        onClick={() => {
          mutation.reset()
          setOpen(true)
        }}
      >
        {t.suppressions.add}
      </Button>
      <Dialog title={t.suppressions.addTitle} open={isOpen} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            submit(new FormData(event.currentTarget))
          }}
        >
          <Stack>
            <TextInput name="user_id" label={t.suppressions.user} required data-autofocus autoComplete="off" />
            <NativeSelect name="channel" label={t.suppressions.channel} data={['email', 'sms', 'push', 'in-app']} />
            <TextInput
              name="address"
              label={t.suppressions.address}
              description={t.suppressions.addressHelp}
              autoComplete="off"
            />
            <TextInput name="scope" label={t.suppressions.scope} description={t.suppressions.scopeHelp} />
            <TextInput name="detail" label={t.suppressions.detail} maxLength={500} />
            <Refusal error={mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {t.common.cancel}
              </Button>
              <Button type="submit" loading={mutation.isPending}>
                {t.suppressions.add}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
