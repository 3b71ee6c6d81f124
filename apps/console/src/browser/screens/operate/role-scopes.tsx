import { type ManagementRole, PreconditionFailedError } from '@gatehouse/client'
import { Button, Checkbox, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useMay } from '../../api/session.tsx'
import { useChange, useVersioned, type Versioned } from '../../api/versioned.ts'
import { useIsKept, useRecordForm } from '../../forms/record-form.ts'
import { Conflict } from '../../parts/changes/conflict.tsx'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Answer } from '../../parts/states.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** The button that changes what a role allows, where that can be changed. */
export function ChangeScopes({ role: { role, assignable_scopes: assignable } }: { role: ManagementRole }) {
  const t = useTexts()
  const may = useMay()
  const isKept = useIsKept(formOf(role))
  const [open, setOpen] = useState(isKept)
  if (assignable.length === 0 || !may('putRole')) return null
  const label = `${t.administrators.change}: ${role}`
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)} aria-label={label}>
        {t.administrators.change}
      </Button>
      <Dialog title={label} open={open} close={() => setOpen(false)}>
        {open && <ReadScopes role={role} close={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}

const formOf = (role: string) => `scopes of ${role}`

function ReadScopes({ role, close }: { role: string; close: () => void }) {
  const query = useVersioned('readRole', { role })
  return (
    <Answer action="readRole" query={query}>
      {(read) => <ScopesForm read={read} close={close} reload={async () => (await query.refetch()).data} />}
    </Answer>
  )
}

interface ScopesFormProps {
  readonly read: Versioned<ManagementRole>
  readonly close: () => void
  readonly reload: () => Promise<Versioned<ManagementRole> | undefined>
}

function ScopesForm({ read, close, reload }: ScopesFormProps) {
  const t = useTexts()
  const meanings: Readonly<Record<string, string>> = t.scopes
  const mutation = useChange('putRole')
  const { role, granted_scopes: granted, default_scopes: defaults, assignable_scopes: assignable } = read.value
  const { form, etag, rest, show } = useRecordForm({
    name: formOf(role),
    initial: { scopes: [...granted] },
    etag: read.etag,
  })
  const [theirs, setTheirs] = useState<Versioned<ManagementRole>>()
  const save = (ifMatch: string | undefined) => {
    show(null)
    const input = { role, scopes: form.getValues().scopes }
    mutation.mutate(
      { input, ifMatch },
      {
        onSuccess: () => {
          notifications.show({ message: t.administrators.changed, color: 'green' })
          close()
        },
        onError: (error) => {
          if (error instanceof PreconditionFailedError) void reload().then(setTheirs)
          else show(error)
        },
      },
    )
  }
  return (
    <form onSubmit={form.onSubmit(() => save(theirs?.etag ?? etag))}>
      <Stack>
        <Text size="sm">{t.administrators.changeText}</Text>
        <Checkbox.Group
          label={t.administrators.scopes}
          value={form.values.scopes}
          onChange={(scopes) => form.setValues({ scopes })}
        >
          <Stack gap={6} mt="xs" className="scope-choices">
            {assignable.map((scope) => (
              <Checkbox key={scope} value={scope} label={scope} description={meanings[scope]} />
            ))}
          </Stack>
        </Checkbox.Group>
        {theirs !== undefined && (
          <Conflict
            mine={{ scopes: form.values.scopes.toSorted() }}
            theirs={{ scopes: [...theirs.value.granted_scopes] }}
            labels={{ scopes: t.administrators.scopes }}
            isBusy={mutation.isPending}
            keepMine={() => save(theirs.etag)}
            takeTheirs={() => {
              form.setValues({ scopes: [...theirs.value.granted_scopes] })
              setTheirs(undefined)
            }}
          />
        )}
        <Refusal error={rest} />
        <Group justify="space-between">
          <Button variant="subtle" onClick={() => form.setValues({ scopes: [...defaults] })}>
            {t.administrators.defaults}
          </Button>
          <Group>
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={mutation.isPending}>
              {t.administrators.save}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  )
}
