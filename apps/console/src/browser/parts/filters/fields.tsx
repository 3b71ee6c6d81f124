import { NativeSelect, TextInput, type TextInputProps } from '@mantine/core'
import { createContext, useContext } from 'react'
import type { Filters } from '../../api/filters.ts'

/** The filters of the form around a field. */
export const FiltersContext = createContext<Filters<string>>({})

/** What is applied under a name; empty for nothing. */
function useFilter(name: string): string {
  return useContext(FiltersContext)[name] ?? ''
}

interface FieldProps {
  /** The name in the address. */
  readonly name: string
  readonly label: string
}

/** A filter that is typed. */
export function TextFilter({ name, ...rest }: FieldProps & TextInputProps) {
  return <TextInput name={name} defaultValue={useFilter(name)} {...rest} />
}

interface ChoiceFilterProps extends FieldProps {
  /** What the choice of none is called. */
  readonly every: string
  readonly data: readonly (string | { readonly value: string; readonly label: string })[]
}

/** A filter that is chosen. */
export function ChoiceFilter({ name, label, every, data }: ChoiceFilterProps) {
  const options = [{ value: '', label: every }, ...data]
  return <NativeSelect name={name} label={label} defaultValue={useFilter(name)} data={options} />
}

/** A time, which is shown and typed as local time. */
export function TimeFilter({ name, label }: FieldProps) {
  const local = localOf(useFilter(name))
  return <TextInput name={name} type="datetime-local" step={1} label={label} defaultValue={local} w={230} />
}

/** An instant in local time, as a field takes it; empty for none. */
function localOf(instant: string): string {
  const at = Date.parse(instant)
  if (Number.isNaN(at)) return ''
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
