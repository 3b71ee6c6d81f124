import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core'
import { notifications as messages } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callConsole } from '../../../api/call.ts'
import type { Filters } from '../../../api/filters.ts'
import { Refusal } from '../../../parts/refusal.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface SavedView {
  readonly id: string
  readonly name: string
  readonly filters: Readonly<Record<string, string>>
}

interface SavedViewsProps {
  /** The path of the screen that they are of. */
  readonly screen: string
  readonly filters: Filters<string>
  readonly apply: (filters: Filters<string>) => void
}

/** The person's saved filters of a screen: choose one, save the present ones, remove one. */
export function SavedViews({ screen, filters, apply }: SavedViewsProps) {
  const t = useTexts()
  const [open, setOpen] = useState(false)
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" width={300} trapFocus withArrow>
      <Popover.Target>
        <Button variant="default" onClick={() => setOpen(!open)}>
          {t.notifications.views}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t.notifications.views}>
        <Stack gap="sm">
          <ViewList
            screen={screen}
            choose={(view) => {
              setOpen(false)
              apply(view)
            }}
          />
          {Object.keys(filters).length > 0 && <SaveView screen={screen} filters={filters} />}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function ViewList({ screen, choose }: { screen: string; choose: (filters: Filters<string>) => void }) {
  const t = useTexts()
  const client = useQueryClient()
  const views = useQuery({
    queryKey: ['views', screen],
    queryFn: ({ signal }) =>
      callConsole<{ items: readonly SavedView[] }>('GET', '/views', signal, { query: { screen } }),
  })
  const remove = useMutation({
    mutationFn: (id: string) => callConsole('DELETE', `/views/${id}`),
    onSettled: () => client.invalidateQueries({ queryKey: ['views'] }),
  })
  if (views.data?.items.length === 0) return <Text size="sm">{t.notifications.viewsNone}</Text>
  return (
    <ul className="views">
      {views.data?.items.map(({ id, name, filters }) => (
        <li key={id}>
          <Button variant="subtle" size="xs" onClick={() => choose(filters)}>
            {name}
          </Button>
          <ActionIcon
            variant="subtle"
            color="gray"
            size={26}
            aria-label={t.notifications.removeView(name)}
            onClick={() => remove.mutate(id)}
          >
            ×
          </ActionIcon>
        </li>
      ))}
    </ul>
  )
}

function SaveView({ screen, filters }: { screen: string; filters: Filters<string> }) {
  const t = useTexts()
  const client = useQueryClient()
  const [name, setName] = useState('')
  const save = useMutation({
    mutationFn: () => callConsole('POST', '/views', undefined, { body: { screen, name, filters } }),
    onSuccess: () => {
      setName('')
      messages.show({ message: t.notifications.viewSaved, color: 'green' })
      return client.invalidateQueries({ queryKey: ['views'] })
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <Group align="flex-end" gap="xs" wrap="nowrap">
        <TextInput
          label={t.notifications.viewName}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          maxLength={80}
          className="grow"
        />
        <Button type="submit" variant="default" loading={save.isPending}>
          {t.notifications.saveView}
        </Button>
      </Group>
      <Refusal error={save.error} />
    </form>
  )
}
