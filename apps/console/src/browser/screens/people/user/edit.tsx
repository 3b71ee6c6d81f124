import { ApiError, type User } from '@gatehouse/client'
import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useMay } from '../../../api/session.tsx'
import { useChange, useVersioned } from '../../../api/versioned.ts'
import { tagOfKept, useKeptState } from '../../../forms/kept-state.ts'
import { useIsKept } from '../../../forms/record-form.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'

const formOf = (id: string) => `user ${id}`
const claimNames: readonly string[] = ['name', 'phone_number', 'locale', 'zoneinfo']

/** Changes an account as it was read: where somebody else was faster, that is shown first. */
export function EditUser({ user }: { user: User }) {
  const t = useTexts()
  const may = useMay()
  const isKept = useIsKept(formOf(user.id))
  const [open, setOpen] = useState(isKept)
  const query = useVersioned('readUser', { id: user.id }, open)
  if (!may('updateUser')) return null
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        {t.user.edit}
      </Button>
      <Dialog title={t.user.edit} open={open} close={() => setOpen(false)}>
        <Answer action="readUser" query={query}>
          {({ value, etag }) => (
            <EditForm user={value} etag={etag} refresh={query.refetch} close={() => setOpen(false)} />
          )}
        </Answer>
      </Dialog>
    </>
  )
}

interface EditFormProps {
  readonly user: User
  readonly etag: string | undefined
  readonly refresh: () => unknown
  readonly close: () => void
}

type Values = Readonly<Record<string, string>>

function EditForm({ user, etag, refresh, close }: EditFormProps) {
  const t = useTexts()
  const first = { read: valuesOf(user), values: valuesOf(user), etag: etag ?? '' }
  const [form, write] = useKeptState(formOf(user.id), first)
  const { read, values } = form
  const mutation = useChange('updateUser')
  const now = valuesOf(user)
  const theirs = Object.keys(now).filter((name) => now[name] !== read[name])
  const isOutdated = mutation.error instanceof ApiError && mutation.error.status === 412
  const field = (name: string, label: string, type = 'text') => (
    <TextInput
      label={label}
      type={type}
      value={values[name] ?? ''}
      onChange={(event) => write({ values: { ...values, [name]: event.currentTarget.value } })}
      autoComplete="off"
    />
  )
  const submit = () => {
    // What somebody else made of it is written over only by whoever has seen it.
    const ifMatch = isOutdated ? etag : tagOfKept(form.etag, etag)
    if (isOutdated) write({ read: now, etag: etag ?? '' })
    mutation.mutate(
      { input: changeOf(user, values), ifMatch },
      {
        onSuccess: () => {
          close()
          notifications.show({ message: t.user.saved, color: 'green' })
        },
        onError: (error) => {
          if (error instanceof ApiError && error.status === 412) refresh()
        },
      },
    )
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack>
        {field('username', t.users.username)}
        {field('email', t.users.email, 'email')}
        {field('plan', t.users.plan)}
        {field('name', t.user.fullName)}
        {field('phone_number', t.user.phone, 'tel')}
        {field('locale', t.user.locale)}
        {field('zoneinfo', t.user.zone)}
        {isOutdated ? (
          <Alert color="yellow" title={t.user.outdated} role="alert">
            {theirs.map((name) => (
              <Text key={name} size="sm">
                {name}: {read[name] || '–'} → {now[name] || '–'}
              </Text>
            ))}
            <Text size="sm">{t.user.outdatedText}</Text>
          </Alert>
        ) : (
          <Refusal error={mutation.error} />
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={mutation.isPending}>
            {isOutdated ? t.user.saveMine : t.user.save}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function valuesOf({ username, email, plan, claims }: User): Values {
  const texts = claimNames.map((name) => [name, typeof claims[name] === 'string' ? claims[name] : ''] as const)
  return { username: username ?? '', email: email ?? '', plan: plan ?? '', ...Object.fromEntries(texts) }
}

/** The members that differ from the user as it is now; claims are sent whole. */
function changeOf(user: User, values: Values) {
  const now = valuesOf(user)
  const changed = (['username', 'email', 'plan'] as const).filter((name) => values[name] !== now[name])
  const members = Object.fromEntries(changed.map((name) => [name, values[name]]))
  if (claimNames.every((name) => values[name] === now[name])) return { id: user.id, ...members }
  // Another number is not verified because the one before was.
  const replaced = values.phone_number === now.phone_number ? claimNames : [...claimNames, 'phone_number_verified']
  const others = Object.entries(user.claims).filter(([name]) => !replaced.includes(name))
  const own = claimNames.flatMap((name) => (values[name] ? [[name, values[name]] as const] : []))
  return { id: user.id, ...members, claims: Object.fromEntries([...others, ...own]) }
}
