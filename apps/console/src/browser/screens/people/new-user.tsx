import { Alert, Button, Checkbox, Code, Group, Stack, Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Id } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** Creates an account; the generated password is shown once. */
export function NewUser() {
  const t = useTexts()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const mutation = useAction('createUser')
  const created = mutation.data
  const close = () => {
    setOpen(false)
    if (created !== undefined) void navigate({ to: '/users/$id', params: { id: created.id } })
  }
  const start = () => {
    mutation.reset()
    setOpen(true)
  }
  return (
    <>
      <Button onClick={start}>{t.users.create}</Button>
      <Dialog title={t.users.create} open={open} close={close}>
        {created === undefined ? (
          <form
            onSubmit={(event) => {
              event.preventDefault()
              const form = new FormData(event.currentTarget)
              const text = (name: string) => String(form.get(name) ?? '').trim()
              mutation.mutate({
                id: text('id'),
                username: text('username'),
                email: text('email'),
                plan: text('plan'),
                ...(form.get('verified') === null ? {} : { email_verified: true }),
              })
            }}
          >
            <Stack>
              <TextInput name="id" label={t.users.id} required maxLength={128} autoComplete="off" data-autofocus />
              <TextInput
                name="username"
                label={t.users.username}
                description={t.users.usernameHint}
                autoComplete="off"
              />
              <TextInput name="email" type="email" label={t.users.email} autoComplete="off" />
              <Checkbox name="verified" label={t.users.isVerified} />
              <TextInput name="plan" label={t.users.plan} description={t.users.planHint} autoComplete="off" />
              <Refusal error={mutation.error} />
              <Group justify="flex-end">
                <Button type="submit" loading={mutation.isPending}>
                  {t.users.create}
                </Button>
              </Group>
            </Stack>
          </form>
        ) : (
          <Stack>
            <Text size="sm">{t.users.wasCreated(created.id)}</Text>
            {created.password !== undefined && (
              <Alert color="yellow" title={t.users.password}>
                <Id value={created.password}>
                  <Code>{created.password}</Code>
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
        )}
      </Dialog>
    </>
  )
}
