import { Alert, Code, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { Id } from '../parts/values/values.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly secret: string
  readonly children?: ReactNode
}

/** A secret that is shown only now. It takes the focus, since the button that made it is gone. */
export function ShownOnce({ title, secret, children }: ShownOnceProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <Alert color="green" title={title} ref={box} tabIndex={-1} aria-live="polite">
      <Stack gap="xs">
        <Id value={secret} label={title}>
          <Code className="secret">{secret}</Code>
        </Id>
        {children}
      </Stack>
    </Alert>
  )
}
