import type { LimitOverride } from '@gatehouse/client'
import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useAction } from '../../../api/queries.ts'
import { type FormControls, useRecordForm } from '../../../forms/record-form.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface Caller {
  readonly kind: string
  readonly id: string
}

/** The name under which the form is kept across a sign-in. */
export function overrideFormOf(caller?: Caller): string {
  return caller === undefined ? 'limit of a caller' : `limit of ${caller.kind} ${caller.id}`
}

interface OverrideFormProps {
  /** The tiers and policies that there are. */
  readonly names: readonly string[]
  /** The caller; undefined where it is chosen in the form. */
  readonly caller?: Caller
  readonly close: () => void
  readonly onSet?: (override: LimitOverride) => void
}

const kinds = ['user', 'client', 'key', 'ip'] as const
const dayMs = 86_400_000

/** Sets the limit of one caller until a time. */
export function OverrideForm({ names, caller, close, onSet }: OverrideFormProps) {
  const t = useTexts()
  const mutation = useAction('putOverride')
  const until = inputTime(Date.now() + dayMs)
  const { kind: ofKind, id: ofId } = caller ?? { kind: 'user', id: '' }
  const initial = { kind: ofKind, id: ofId, how: 'factor', factor: '2', policy: names[0] ?? '', until, reason: '' }
  const { form, rest, show } = useRecordForm({ name: overrideFormOf(caller), initial })
  const submit = form.onSubmit(({ kind, id, how, factor, policy, until: end, reason }) => {
    show(null)
    const limit = how === 'factor' ? { factor: Number(factor) } : { policy }
    mutation.mutate(
      { kind, id: id.trim(), ...limit, until: new Date(end).toISOString(), reason: reason.trim() },
      {
        onSuccess: (override) => {
          onSet?.(override)
          notifications.show({ message: t.overrides.done, color: 'green' })
          close()
        },
        onError: show,
      },
    )
  })
  return (
    <form onSubmit={submit}>
      <Stack>
        {caller === undefined && <CallerFields form={form as never} />}
        <NativeSelect
          label={t.overrides.how}
          {...(caller === undefined ? {} : { 'data-autofocus': true })}
          data={[
            { value: 'factor', label: t.overrides.byFactor },
            { value: 'policy', label: t.overrides.byPolicy },
          ]}
          {...form.getInputProps('how')}
        />
        {form.values.how === 'factor' ? (
          <TextInput
            type="number"
            label={t.overrides.factorLabel}
            min={0.001}
            max={1_000}
            step="any"
            required
            {...form.getInputProps('factor')}
          />
        ) : (
          <NativeSelect label={t.overrides.policyLabel} data={[...names]} {...form.getInputProps('policy')} />
        )}
        <TextInput type="datetime-local" label={t.overrides.until} required {...form.getInputProps('until')} />
        <TextInput label={t.overrides.reason} required maxLength={500} {...form.getInputProps('reason')} />
        <Refusal error={rest} />
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
  )
}

function CallerFields({ form }: { form: FormControls<{ kind: string; id: string }> }) {
  const t = useTexts()
  return (
    <>
      <NativeSelect
        label={t.overrides.kind}
        data={kinds.map((value) => ({ value, label: t.overrides.kinds[value] }))}
        {...form.getInputProps('kind')}
      />
      <TextInput
        label={t.overrides.id}
        required
        maxLength={512}
        autoComplete="off"
        data-autofocus
        {...form.getInputProps('id')}
      />
    </>
  )
}

/** A time as an input of local time has it. */
function inputTime(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
