import { useForm } from '@mantine/form'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { beforeLeaving } from '../api/leaving.ts'
import { useSession } from '../api/session.tsx'
import { faultsByField } from './faults.ts'
import { isKept, keepForm, takeForm } from './kept.ts'

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
}

interface RecordFormOptions<Values extends object> {
  /** Of the form and of what is edited in it; under it what was typed is kept. */
  readonly name: string
  readonly initial: Values
  readonly etag?: string | undefined
  /** Fields that are never kept. */
  readonly secret?: readonly (keyof Values)[]
}

/** A form that shows the faults of the API at its fields, and stays as it is across a sign-in. */
export function useRecordForm<Values extends object>({
  name,
  initial,
  etag,
  secret,
}: RecordFormOptions<Values>): RecordForm<Values> {
  const { user } = useSession()
  const place = { storage: sessionStorage, name, user }
  const [kept] = useState(() => takeForm<Values>(place, Date.now()))
  const [rest, setRest] = useState<Error | null>(null)
  const form = useForm({ initialValues: { ...initial, ...kept?.values } }) as unknown as FormControls<Values>
  const edited = kept?.etag ?? etag
  const keep = useRef(() => {})
  keep.current = () =>
    keepForm(place, { values: form.getValues(), etag: edited }, { now: Date.now(), ...(secret ? { secret } : {}) })
  useEffect(() => beforeLeaving(() => keep.current()), [])
  return {
    form,
    etag: edited,
    rest,
    show(error) {
      const faults = error === null ? undefined : faultsByField(error, Object.keys(initial))
      form.setErrors(faults?.fields ?? {})
      setRest(faults?.rest === undefined ? null : error)
    },
  }
}

/** Whether a form is to be open from the start, because the person comes back to it from a sign-in. */
export function useIsKept(name: string): boolean {
  const { user } = useSession()
  const [was] = useState(() => isKept({ storage: sessionStorage, name, user }, Date.now()))
  return was
}
