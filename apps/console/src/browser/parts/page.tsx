import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTexts } from '../texts/settings.tsx'

interface PageProps {
  readonly title: string
  readonly lead?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: its heading takes the focus when it opens, and its title names the window. */
export function Page({ title, lead, actions, children }: PageProps) {
  const t = useTexts()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · ${t.product}`
    heading.current?.focus({ preventScroll: true })
  }, [title, t.product])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="md">
        <div className="heading">
          <Title order={1} ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {lead !== undefined && <Text c="dimmed">{lead}</Text>}
        </div>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
