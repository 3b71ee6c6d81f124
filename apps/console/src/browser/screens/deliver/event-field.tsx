import { TextInput } from '@mantine/core'
import { useId } from 'react'
import { useRead } from '../../api/queries.ts'

interface EventFieldProps {
  readonly label: string
  readonly name?: string
  readonly value?: string
  readonly defaultValue?: string
  readonly required?: boolean
  readonly onChange?: (event: string) => void
}

/** A field for an event type, which offers those that there are. */
export function EventField({ onChange, ...field }: EventFieldProps) {
  const id = useId()
  const types = useRead('listEventTypes', { limit: 200 })
  const change = onChange && {
    onChange: (event: { currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value),
  }
  return (
    <>
      <TextInput {...field} {...change} list={id} className="grow" autoComplete="off" />
      <datalist id={id}>
        {types.data?.items.map(({ event }) => (
          <option key={event} value={event} />
        ))}
      </datalist>
    </>
  )
}
