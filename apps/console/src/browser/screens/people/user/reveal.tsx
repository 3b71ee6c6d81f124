import type { User } from '@gatehouse/client'
import { Alert, Button, Checkbox, Group, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ActionId, InputOf } from '../../../../actions/index.ts'
import { useAction } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { useMasked } from '../../../parts/values/masked.tsx'
import { Facts, Id } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** Shows masked members of an account for a reason, to those who see personal data masked. */
export function RevealAccount({ user }: { user: User }) {
  const known = ['username', ...(user.email === undefined ? [] : ['email']), ...Object.keys(user.claims)]
  const mutation = useAction('revealUser')
  return (
    <Reveal
      action="revealUser"
      fields={[...new Set(known)].filter((name) => !/_verified$/.test(name))}
      mutation={mutation}
      run={(fields, reason, options) =>
        mutation.mutate({ id: user.id, fields: fields as InputOf<'revealUser'>['fields'], reason }, options)
      }
    />
  )
}

/** Shows masked addresses of a recipient for a reason. */
export function RevealRecipient({ id, fields }: { id: string; fields: readonly string[] }) {
  const mutation = useAction('revealRecipient')
  return (
    <Reveal
      action="revealRecipient"
      fields={fields}
      mutation={mutation}
      run={(chosen, reason, options) =>
        mutation.mutate({ user_id: id, fields: chosen as InputOf<'revealRecipient'>['fields'], reason }, options)
      }
    />
  )
}

interface RevealProps {
  readonly action: ActionId
  readonly fields: readonly string[]
  readonly mutation: { readonly data: unknown; readonly error: Error | null; readonly isPending: boolean }
  readonly run: (fields: string[], reason: string, options: { readonly onSuccess: () => void }) => void
}

function Reveal({ action, fields, mutation, run }: RevealProps) {
  const t = useTexts()
  const may = useMay()
  const isMasked = useMasked()
  const [open, setOpen] = useState(false)
  const [chosen, setChosen] = useState<string[]>([])
  const [reason, setReason] = useState('')
  if (!isMasked || !may(action) || fields.length === 0) return null
  const revealed = Object.entries((mutation.data ?? {}) as Record<string, unknown>).filter(
    ([name]) => name !== 'user_id',
  )
  return (
    <>
      {revealed.length > 0 && (
        <Alert color="yellow" title={t.user.revealed} role="status" className="revealed">
          <Facts facts={revealed.map(([name, value]) => [name, <Id key={name} value={textOf(value)} />])} />
        </Alert>
      )}
      <Group>
        <Button variant="default" size="xs" onClick={() => setOpen(true)}>
          {t.user.reveal}
        </Button>
      </Group>
      <Dialog title={t.user.revealTitle} open={open} close={() => setOpen(false)}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            run(chosen, reason, { onSuccess: () => setOpen(false) })
          }}
        >
          <Stack>
            <Checkbox.Group label={t.user.revealFields} value={chosen} onChange={setChosen}>
              <Group gap="sm" mt={6}>
                {fields.map((name) => (
                  <Checkbox key={name} value={name} label={name} />
                ))}
              </Group>
            </Checkbox.Group>
            <TextInput
              label={t.user.reason}
              description={t.user.revealText}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              required
              minLength={3}
              maxLength={500}
            />
            <Refusal error={mutation.error} />
            <Group justify="flex-end">
              <Button type="submit" loading={mutation.isPending} disabled={chosen.length === 0}>
                {t.user.reveal}
              </Button>
            </Group>
          </Stack>
        </form>
      </Dialog>
    </>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
