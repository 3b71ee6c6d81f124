import type { User } from '@gatehouse/client'
import { Alert, Button, Group, MultiSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { useAction } from '../../api/queries.ts'
import { useMay, useSession } from '../../api/session.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts, Id, Json, State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { LockState } from './lock-state.tsx'

/** What the account is. Personal data is masked by the API for those who may not read it. */
export function UserSummary({ user }: { user: User }) {
  const t = useTexts()
  const { email } = user
  return (
    <Stack className="panel">
      <Facts
        facts={[
          [t.users.id, <Id key="id" value={user.id} />],
          [t.users.state, <LockState key="state" locked={user.locked} />],
          [t.users.username, user.username],
          [t.users.email, email && <Email key="email" email={email} verified={user.email_verified} />],
          [t.users.plan, user.plan],
          [t.users.roles, <Words key="roles" values={user.roles} />],
          [t.users.created, <Time key="created" at={user.created_at} />],
          [t.users.updated, <Time key="updated" at={user.updated_at} />],
        ]}
      />
      {Object.keys(user.claims).length > 0 && (
        <div>
          <Text size="xs" c="dimmed" mb={4}>
            {t.users.claims}
          </Text>
          <Json label={t.users.claims} value={user.claims} />
        </div>
      )}
      <Reveal user={user} />
    </Stack>
  )
}

function Email({ email, verified }: { email: string; verified: boolean }) {
  const t = useTexts()
  return (
    <Group gap={6}>
      <span>{email}</span>
      <State tone={verified ? 'good' : 'careful'}>{verified ? t.users.verified : t.users.unverified}</State>
    </Group>
  )
}

/** Shows masked members for a reason, to those who see personal data masked. */
function Reveal({ user }: { user: User }) {
  const t = useTexts()
  const may = useMay()
  const { scopes } = useSession()
  const [open, setOpen] = useState(false)
  const [fields, setFields] = useState<string[]>(['email'])
  const [reason, setReason] = useState('')
  const mutation = useAction('revealUser')
  if (!may('revealUser') || scopes.includes('read:personal-data')) return null
  const known = ['username', 'email', ...Object.keys(user.claims)]
  return (
    <>
      {mutation.data !== undefined && <Json label={t.user.revealTitle} value={mutation.data} />}
      <Group>
        <Button variant="default" size="xs" onClick={() => setOpen(true)}>
          {t.user.reveal}
        </Button>
      </Group>
      <Dialog title={t.user.revealTitle} open={open} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            mutation.mutate(
              { id: user.id, fields: fields as InputOf<'revealUser'>['fields'], reason },
              { onSuccess: () => setOpen(false) },
            )
          }}
        >
          <Stack>
            <MultiSelect label={t.users.claims} data={[...new Set(known)]} value={fields} onChange={setFields} />
            <TextInput
              label={t.user.reason}
              description={t.user.revealText}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              required
              minLength={3}
              maxLength={500}
            />
            {mutation.error !== null && <Alert color="red">{mutation.error.message}</Alert>}
            <Group justify="flex-end">
              <Button type="submit" loading={mutation.isPending} disabled={fields.length === 0}>
                {t.user.reveal}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}
