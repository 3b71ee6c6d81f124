import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useAction } from '../../../api/queries.ts'
import { useRecordForm } from '../../../forms/record-form.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { tidyScopes } from '../clients/registration.ts'
import { ScopesField } from '../clients/scopes.tsx'

/** The name under which the form is kept across a sign-in. */
export const newKeyForm = 'new API key'

interface NewKeyProps {
  readonly close: () => void
  readonly onCreated: (key: string) => void
}

const initial = { name: '', owner: '', scopes: [] as string[], plan: '', expires_at: '' }

/** The form of a new API key. */
export function NewKey({ close, onCreated }: NewKeyProps) {
  const t = useTexts()
  const mutation = useAction('createApiKey')
  const { form, rest, show } = useRecordForm({ name: newKeyForm, initial })
  const submit = form.onSubmit(({ expires_at: day, scopes, ...values }) => {
    show(null)
    const expires_at = day === '' ? '' : new Date(day).toISOString()
    mutation.mutate(
      { ...values, scopes: tidyScopes(scopes), expires_at },
      {
        onSuccess: ({ key }) => {
          onCreated(key ?? '')
          close()
        },
        onError: show,
      },
    )
  })
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput label={t.apiKeys.name} required maxLength={200} data-autofocus {...form.getInputProps('name')} />
        <TextInput
          label={t.apiKeys.owner}
          description={t.apiKeys.ownerHelp}
          required
          maxLength={128}
          {...form.getInputProps('owner')}
        />
        <ScopesField label={t.apiKeys.scopes} field={form.getInputProps('scopes')} />
        <TextInput label={t.apiKeys.plan} description={t.apiKeys.planHelp} {...form.getInputProps('plan')} />
        <TextInput
          type="date"
          label={t.apiKeys.expires}
          description={t.apiKeys.expiresHelp}
          {...form.getInputProps('expires_at')}
        />
        <Refusal error={rest} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t.common.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending}>
            {t.apiKeys.create}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
