import { Button, Group, TextInput } from '@mantine/core'
import { useState } from 'react'

interface OpenByIdProps {
  readonly label: string
  readonly button: string
  readonly onOpen: (id: string) => void
}

/** A field for an id that leads to its page. */
export function OpenById({ label, button, onOpen }: OpenByIdProps) {
  const [id, setId] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (id.trim() !== '') onOpen(id.trim())
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput label={label} value={id} onChange={(event) => setId(event.currentTarget.value)} className="grow" />
        <Button type="submit" variant="default">
          {button}
        </Button>
      </Group>
    </form>
  )
}
