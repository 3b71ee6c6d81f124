import { Alert, Button, Checkbox, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { OutputOf } from '../../../actions/index.ts'
import { useAction } from '../../api/queries.ts'
import { useIsKept, useRecordForm } from '../../forms/record-form.ts'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Id } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

const formName = 'new user'
const initial = { id: '', username: '', email: '', email_verified: false, plan: '' }

/** Creates an account; the generated password is shown once. */
export function NewUser() {
  const t = useTexts()
  const navigate = useNavigate()
  const wasOpen = useIsKept(formName)
  const [open, setOpen] = useState(wasOpen)
  const [created, setCreated] = useState<OutputOf<'createUser'>>()
  const close = () => {
    setOpen(false)
    if (created !== undefined) void navigate({ to: '/users/$id', params: { id: created.id } })
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t.users.create}</Button>
      <Dialog title={t.users.create} open={open} close={close}>
        {created === undefined ? <UserForm onCreated={setCreated} /> : <Created user={created} close={close} />}
      </Dialog>
    </>
  )
}

function UserForm({ onCreated }: { onCreated: (user: OutputOf<'createUser'>) => void }) {
  const t = useTexts()
  const mutation = useAction('createUser')
  const { form, rest, show } = useRecordForm({ name: formName, initial })
  const submit = form.onSubmit(({ email_verified: verified, ...values }) => {
    show(null)
    const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()]))
    const input = { ...(texts as typeof values), ...(verified ? { email_verified: true } : {}) }
    mutation.mutate(input, { onSuccess: onCreated, onError: show })
  })
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t.users.id}
          required
          maxLength={128}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('id')}
        />
        <TextInput
          label={t.users.username}
          description={t.users.usernameHint}
          autoComplete="off"
          {...form.getInputProps('username')}
        />
        <TextInput type="email" label={t.users.email} autoComplete="off" {...form.getInputProps('email')} />
        <Checkbox label={t.users.isVerified} {...form.getInputProps('email_verified', { type: 'checkbox' })} />
        <TextInput
          label={t.users.plan}
          description={t.users.planHint}
          autoComplete="off"
          {...form.getInputProps('plan')}
        />
        <Refusal error={rest} />
        <Group justify="flex-end">
          <Button type="submit" loading={mutation.isPending}>
            {t.users.create}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Created({ user, close }: { user: OutputOf<'createUser'>; close: () => void }) {
  const t = useTexts()
  return (
    <Stack>
      <Text size="sm">{t.users.wasCreated(user.id)}</Text>
      {user.password !== undefined && (
        <Alert color="yellow" title={t.users.password}>
          <Id value={user.password}>
            <Code>{user.password}</Code>
          </Id>
          <Text size="xs" mt="xs">
            {t.users.passwordHint}
          </Text>
        </Alert>
      )}
      <Group justify="flex-end">
        <Button onClick={close}>{t.users.openCreated}</Button>
      </Group>
    </Stack>
  )
}
