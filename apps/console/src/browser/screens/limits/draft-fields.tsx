import { NativeSelect, Switch, TextInput } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import type { Declaration, LimitKind } from './declaration.ts'

interface DraftFieldsProps {
  readonly kind: LimitKind
  readonly declaration: Declaration
  readonly onChange: (declaration: Declaration) => void
}

/** The members of a tier or policy as fields. */
export function DraftFields({ kind, declaration, onChange }: DraftFieldsProps) {
  const t = useTexts()
  const set = (members: Partial<Declaration>) => onChange(withoutUndefined({ ...declaration, ...members }))
  const { burst } = declaration
  return (
    <div className="fields">
      {(['rps', 'rpm', 'daily'] as const).map((name) => (
        <NumberField
          key={name}
          label={t.limit[name]}
          value={declaration[name]}
          onChange={(value) => set({ [name]: value })}
        />
      ))}
      <NumberField
        label={t.limit.capacity}
        value={burst?.capacity}
        onChange={(capacity) =>
          set({
            burst: capacity === undefined ? undefined : { refill_per_second: 1, ...burst, capacity },
          })
        }
      />
      {burst !== undefined && (
        <NumberField
          label={t.limit.refill}
          value={burst.refill_per_second}
          step="any"
          onChange={(refill = 0) => set({ burst: { ...burst, refill_per_second: refill } })}
        />
      )}
      <Choice
        label={t.limit.algorithm}
        value={declaration.algorithm}
        words={t.limit.algorithms}
        standard={t.limit.algorithms['sliding-window']}
        onChange={(algorithm) => set({ algorithm })}
      />
      {kind === 'tiers' && (
        <Choice
          label={t.limit.dailyAlgorithm}
          value={declaration.daily_algorithm}
          words={t.limit.algorithms}
          standard={t.limit.asAlgorithm}
          onChange={(algorithm) => set({ daily_algorithm: algorithm })}
        />
      )}
      <Choice
        label={t.limit.failureMode}
        value={declaration.failure_mode}
        words={t.limits.modes}
        standard={t.limits.modes.local}
        onChange={(mode) => set({ failure_mode: mode })}
      />
      <Choice
        label={t.limit.mode}
        value={declaration.mode}
        words={t.limit.countings}
        standard={t.limit.countings.exact}
        onChange={(mode) => set({ mode })}
      />
      <Choice
        label={t.limit.quota}
        value={declaration.quota}
        words={t.limit.quotas}
        standard={t.limit.quotas.global}
        onChange={(quota) => set({ quota })}
      />
      <NumberField label={t.limit.shards} value={declaration.shards} onChange={(shards) => set({ shards })} />
      {kind === 'policies' && (
        <Switch
          label={t.limit.shared}
          checked={declaration.shared === true}
          onChange={(event) => set({ shared: event.currentTarget.checked ? true : undefined })}
        />
      )}
    </div>
  )
}

interface NumberFieldProps {
  readonly label: string
  readonly value: number | undefined
  readonly step?: 'any'
  readonly onChange: (value: number | undefined) => void
}

/** A number that may be left out. */
function NumberField({ label, value, step, onChange }: NumberFieldProps) {
  return (
    <TextInput
      type="number"
      label={label}
      min={step === undefined ? 1 : 0}
      {...(step === undefined ? {} : { step })}
      value={value ?? ''}
      onChange={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : Number(currentTarget.value))}
      autoComplete="off"
    />
  )
}

interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly value: Value | undefined
  readonly words: Readonly<Record<Value, string>>
  /** What applies where nothing is chosen. */
  readonly standard: string
  readonly onChange: (value: Value | undefined) => void
}

/** One of several values, or the default. */
function Choice<Value extends string>({ label, value, words, standard, onChange }: ChoiceProps<Value>) {
  const t = useTexts()
  const values = Object.entries<string>(words).map(([one, word]) => ({ value: one, label: word }))
  return (
    <NativeSelect
      label={label}
      value={value ?? ''}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === '' ? undefined : (currentTarget.value as Value))
      }
      data={[{ value: '', label: `${t.limit.standard}: ${standard}` }, ...values]}
    />
  )
}

function withoutUndefined(declaration: Partial<Declaration>): Declaration {
  return Object.fromEntries(Object.entries(declaration).filter(([, value]) => value !== undefined))
}
