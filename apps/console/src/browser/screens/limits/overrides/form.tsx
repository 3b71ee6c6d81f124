import type { LimitOverride } from '@gatehouse/client'
import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useAction } from '../../../api/queries.ts'
import { Dialog } from '../../../parts/dialog.tsx'
import { Refusal } from '../../../parts/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface OverrideFormProps {
  /** The tiers and policies that there are. */
  readonly names: readonly string[]
  /** The caller; undefined where it is chosen in the form. */
  readonly caller?: { readonly kind: string; readonly id: string }
  readonly open: boolean
  readonly close: () => void
  readonly onSet?: (override: LimitOverride) => void
}

const kinds = ['user', 'client', 'key', 'ip'] as const
const dayMs = 86_400_000

/** Sets the limit of one caller until a time. */
export function OverrideForm({ names, caller, open, close, onSet }: OverrideFormProps) {
  const t = useTexts()
  const mutation = useAction('putOverride')
  const [how, setHow] = useState<'factor' | 'policy'>('factor')
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const limit = how === 'factor' ? { factor: Number(text('factor')) } : { policy: text('policy') }
    const until = new Date(text('until')).toISOString()
    mutation.mutate(
      { ...(caller ?? { kind: text('kind'), id: text('id') }), ...limit, until, reason: text('reason') },
      {
        onSuccess: (override) => {
          onSet?.(override)
          notifications.show({ message: t.overrides.done, color: 'green' })
          close()
        },
      },
    )
  }
  return (
    <Dialog title={t.overrides.create} open={open} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          submit(new FormData(event.currentTarget))
        }}
      >
        <Stack>
          {caller === undefined && <CallerFields />}
          <NativeSelect
            label={t.overrides.how}
            {...(caller === undefined ? {} : { 'data-autofocus': true })}
            value={how}
            onChange={(event) => setHow(event.currentTarget.value as 'factor' | 'policy')}
            data={[
              { value: 'factor', label: t.overrides.byFactor },
              { value: 'policy', label: t.overrides.byPolicy },
            ]}
          />
          {how === 'factor' ? (
            <TextInput
              name="factor"
              type="number"
              label={t.overrides.factorLabel}
              min={0.001}
              max={1_000}
              step="any"
              defaultValue={2}
              required
            />
          ) : (
            <NativeSelect name="policy" label={t.overrides.policyLabel} data={[...names]} />
          )}
          <TextInput
            name="until"
            type="datetime-local"
            label={t.overrides.until}
            defaultValue={inputTime(Date.now() + dayMs)}
            required
          />
          <TextInput name="reason" label={t.overrides.reason} required maxLength={500} />
          <Refusal error={mutation.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t.common.cancel}
            </Button>
            <Button type="submit" loading={mutation.isPending}>
              {t.overrides.create}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function CallerFields() {
  const t = useTexts()
  return (
    <>
      <NativeSelect
        name="kind"
        label={t.overrides.kind}
        data={kinds.map((value) => ({ value, label: t.overrides.kinds[value] }))}
      />
      <TextInput name="id" label={t.overrides.id} required maxLength={512} autoComplete="off" data-autofocus />
    </>
  )
}

/** A time as an input of local time has it. */
function inputTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
