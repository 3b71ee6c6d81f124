import { NativeSelect, Switch, TextInput } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import type { Declaration, LimitKind } from './declaration.ts'

interface DraftFieldsProps {
  readonly kind: LimitKind
  readonly declaration: Declaration
  readonly onChange: (declaration: Declaration) => void
  /** What is wrong with a member, which is shown at its field. */
  readonly fault?: FieldFault | undefined
}

/** A member that is not allowed. */
export interface FieldFault {
  /** Its path in the declaration, such as `burst/capacity`. */
  readonly path: string
  readonly expected: string
}

/** The paths that have a field. */
export function hasField(path: string, kind: LimitKind, { burst }: Declaration): boolean {
  if (path === 'burst/refill_per_second') return burst !== undefined
  if (path === 'daily_algorithm') return kind === 'tiers'
  return fieldPaths.has(path)
}

const fieldPaths: ReadonlySet<string> = new Set([
  'rps',
  'rpm',
  'daily',
  'burst/capacity',
  'algorithm',
  'failure_mode',
  'mode',
  'quota',
  'shards',
])

/** The members of a tier or policy as fields. */
export function DraftFields({ kind, declaration, onChange, fault }: DraftFieldsProps) {
  const t = useTexts()
  const set = (members: Partial<Declaration>) => onChange(withoutUndefined({ ...declaration, ...members }))
  const { burst } = declaration
  const errorAt = (path: string) => (fault?.path === path ? fault.expected : undefined)
  return (
    <div className="fields">
      {(['rps', 'rpm', 'daily'] as const).map((name) => (
        <NumberField
          key={name}
          label={t.limit[name]}
          value={declaration[name]}
          error={errorAt(name)}
          onChange={(value) => set({ [name]: value })}
        />
      ))}
      <NumberField
        label={t.limit.capacity}
        value={burst?.capacity}
        error={errorAt('burst/capacity')}
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
          error={errorAt('burst/refill_per_second')}
          step="any"
          onChange={(refill = 0) => set({ burst: { ...burst, refill_per_second: refill } })}
        />
      )}
      <Choice
        label={t.limit.algorithm}
        value={declaration.algorithm}
        error={errorAt('algorithm')}
        words={t.limit.algorithms}
        standard={t.limit.algorithms['sliding-window']}
        onChange={(algorithm) => set({ algorithm })}
      />
      {kind === 'tiers' && (
        <Choice
          label={t.limit.dailyAlgorithm}
          value={declaration.daily_algorithm}
          error={errorAt('daily_algorithm')}
          words={t.limit.algorithms}
          standard={t.limit.asAlgorithm}
          onChange={(algorithm) => set({ daily_algorithm: algorithm })}
        />
      )}
      <Choice
        label={t.limit.failureMode}
        value={declaration.failure_mode}
        error={errorAt('failure_mode')}
        words={t.limits.modes}
        standard={t.limits.modes.local}
        onChange={(mode) => set({ failure_mode: mode })}
      />
      <Choice
        label={t.limit.mode}
        value={declaration.mode}
        error={errorAt('mode')}
        words={t.limit.countings}
        standard={t.limit.countings.exact}
        onChange={(mode) => set({ mode })}
      />
      <Choice
        label={t.limit.quota}
        value={declaration.quota}
        error={errorAt('quota')}
        words={t.limit.quotas}
        standard={t.limit.quotas.global}
        onChange={(quota) => set({ quota })}
      />
      <NumberField
        label={t.limit.shards}
        value={declaration.shards}
        error={errorAt('shards')}
        onChange={(shards) => set({ shards })}
      />
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
  readonly error: string | undefined
  readonly onChange: (value: number | undefined) => void
}

/** A number that may be left out. */
function NumberField({ label, value, step, error, onChange }: NumberFieldProps) {
  return (
    <TextInput
      type="number"
      label={label}
      min={step === undefined ? 1 : 0}
      {...(step === undefined ? {} : { step })}
      value={value ?? ''}
      error={error}
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
  readonly error: string | undefined
  readonly onChange: (value: Value | undefined) => void
}

/** One of several values, or the default. */
function Choice<Value extends string>({ label, value, words, standard, error, onChange }: ChoiceProps<Value>) {
  const t = useTexts()
  const values = Object.entries<string>(words).map(([one, word]) => ({ value: one, label: word }))
  return (
    <NativeSelect
      label={label}
      value={value ?? ''}
      error={error}
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
