import { useForm } from '@mantine/form'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { faultsByField } from './faults.ts'
import { isSameForm, useKeeping, useKept } from './keeping.ts'
import { isKept } from './kept.ts'

/** What is used of a form of Mantine, whose own types do not resolve here. */
export interface FormControls<Values extends object> {
  readonly values: Values
  getValues(): Values
  setValues(values: Partial<Values>): void
  setErrors(errors: Readonly<Record<string, ReactNode>>): void
  /** The members that tie an input to its field. */
  getInputProps(name: Extract<keyof Values, string>, options?: { readonly type: 'checkbox' }): object
  onSubmit(submit: (values: Values) => void): (event: FormEvent<HTMLFormElement>) => void
}

/** A form of a record of the APIs. */
export interface RecordForm<Values extends object> {
  readonly form: FormControls<Values>
  /** The version that is edited, as it was read when the form was opened. */
  readonly etag: string | undefined
  /** What the API said and belongs to no field. */
  readonly rest: Error | null
  /** Shows a refusal: at its fields, else in `rest`. */
  show(error: Error | null): void
  /** Whether something was typed that is neither stored nor given up. */
  isTyped(): boolean
  /** What was typed is stored or given up: the form may be left. */
  finish(): void
}

interface RecordFormOptions<Values extends object> {
  /** Of the form and of what is edited in it; under it what was typed is kept. */
  readonly name: string
  readonly initial: Values
  readonly etag?: string | undefined
  /** Fields that are never kept. */
  readonly secret?: readonly (keyof Values)[]
}

/**
 * A form that shows the faults of the API at its fields, and stays as it is across a sign-in, also one that comes because
 * the session has ended.
 */
export function useRecordForm<Values extends object>({
  name,
  initial,
  etag,
  secret = [],
}: RecordFormOptions<Values>): RecordForm<Values> {
  const kept = useKept<Values>(name)
  const [rest, setRest] = useState<Error | null>(null)
  const form = useForm({ initialValues: { ...initial, ...kept?.values } }) as unknown as FormControls<Values>
  // Whatever is read later, the form is of what was read when it was opened.
  const [edited] = useState(kept?.etag ?? etag)
  const isFinished = useRef(false)
  const isTyped = () => !isFinished.current && !isSameForm(form.getValues(), initial)
  useKeeping(name, () => (isTyped() ? { values: form.getValues(), etag: edited } : undefined), { secret })
  return {
    form,
    etag: edited,
    rest,
    show(error) {
      const faults = error === null ? undefined : faultsByField(error, Object.keys(initial))
      form.setErrors(faults?.fields ?? {})
      setRest(faults?.rest === undefined ? null : error)
    },
    isTyped,
    finish: () => {
      isFinished.current = true
    },
  }
}

/** Whether a form is to be open from the start, because the person comes back to it from a sign-in. */
export function useIsKept(name: string): boolean {
  const { user } = useSession()
  const [was] = useState(() => isKept({ storage: sessionStorage, name, user }, Date.now()))
  return was
}
