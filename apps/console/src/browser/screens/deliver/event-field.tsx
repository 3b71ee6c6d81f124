import { TextInput } from '@mantine/core'
import { useId } from 'react'
import { useRead } from '../../api/queries.ts'
import { useTexts } from '../../texts/settings.tsx'

interface EventFieldProps {
  readonly label: string
  readonly name?: string
  readonly value?: string
  readonly defaultValue?: string
  readonly required?: boolean
  readonly onChange?: (event: string) => void
  /** Whether it is to be sent: nobody sends what is reserved, so that only the others are offered. */
  readonly isSent?: boolean
}

/** A field for an event type, which offers those that there are; those of the program itself come last. */
export function EventField({ onChange, isSent = false, ...field }: EventFieldProps) {
  const t = useTexts()
  const id = useId()
  const types = useRead('listEventTypes', { limit: 200 })
  const known = types.data?.items ?? []
  const own = known.filter(({ reserved }) => reserved !== true)
  const offered = isSent ? own : [...own, ...known.filter(({ reserved }) => reserved === true)]
  const change = onChange && {
    onChange: (event: { currentTarget: HTMLInputElement }) => onChange(event.currentTarget.value),
  }
  return (
    <>
      <TextInput {...field} {...change} list={id} className="grow" autoComplete="off" />
      <datalist id={id}>
        {offered.map(({ event, reserved }) => (
          <option key={event} value={event} label={reserved === true ? t.eventTypes.isReserved : undefined} />
        ))}
      </datalist>
    </>
  )
}
