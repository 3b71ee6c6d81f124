import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import type { InputOf } from '../../../../actions/index.ts'
import { useAction } from '../../../api/queries.ts'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useTexts } from '../../../texts/settings.tsx'

const optional = ['address', 'scope', 'detail'] as const

/** The form as it is while it is closed. */
const closed = { isOpen: false, user_id: '', channel: 'email', address: '', scope: '', detail: '' }

/** The button that adds a suppression by hand, with its form. */
export function AddSuppression() {
  const t = useTexts()
  const [form, write] = useKeptState('new suppression', closed)
  const mutation = useAction('addSuppression')
  const submit = () => {
    const given = optional.map((name) => [name, form[name].trim()] as const).filter(([, text]) => text !== '')
    const input = { user_id: form.user_id.trim(), channel: form.channel, ...Object.fromEntries(given) }
    mutation.mutate(input as InputOf<'addSuppression'>, {
      onSuccess: () => {
        write(closed)
        notifications.show({ message: t.suppressions.added, color: 'green' })
      },
    })
  }
  const field = (name: Exclude<keyof typeof closed, 'isOpen'>) => ({
    name,
    value: form[name],
    onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
      write({ [name]: currentTarget.value }),
  })
  return (
    <>
      <Button
        onClick={() => {
          mutation.reset()
          write({ isOpen: true })
        }}
      >
        {t.suppressions.add}
      </Button>
      <Dialog title={t.suppressions.addTitle} open={form.isOpen} close={() => write(closed)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            submit()
          }}
        >
          <Stack>
            <TextInput {...field('user_id')} label={t.suppressions.user} required data-autofocus autoComplete="off" />
            <NativeSelect
              {...field('channel')}
              label={t.suppressions.channel}
              data={['email', 'sms', 'push', 'in-app']}
            />
            <TextInput
              {...field('address')}
              label={t.suppressions.address}
              description={t.suppressions.addressHelp}
              autoComplete="off"
            />
            <TextInput {...field('scope')} label={t.suppressions.scope} description={t.suppressions.scopeHelp} />
            <TextInput {...field('detail')} label={t.suppressions.detail} maxLength={500} />
            <Refusal error={mutation.error} />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => write(closed)}>
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
