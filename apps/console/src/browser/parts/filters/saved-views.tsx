import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from '@mantine/core'
import { notifications as messages } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callConsole } from '../../api/call.ts'
import { type Filters, withoutFilters } from '../../api/filters.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Refusal } from '../changes/refusal.tsx'

interface SavedView {
  readonly id: string
  readonly name: string
  readonly filters: Readonly<Record<string, string>>
}

interface SavedViewsProps<Name extends string> {
  /** The path of the screen that they are of. */
  readonly screen: string
  readonly filters: Filters<Name>
  /** The names of the filters that no view keeps. */
  readonly personal?: readonly Name[]
  readonly apply: (filters: Filters<Name>) => void
}

/** The person's saved filters of a screen: choose one, save the present ones, remove one. */
export function SavedViews<Name extends string>(props: SavedViewsProps<Name>) {
  const { screen, filters, personal = [], apply } = props
  const t = useTexts()
  const [open, setOpen] = useState(false)
  const kept = withoutFilters(filters, ...personal)
  const isCut = Object.keys(kept).length < Object.keys(filters).length
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" width={300} trapFocus withArrow>
      <Popover.Target>
        <Button variant="default" onClick={() => setOpen(!open)}>
          {t.views.title}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t.views.title}>
        <Stack gap="sm">
          <ViewList
            screen={screen}
            choose={(view) => {
              setOpen(false)
              apply(view as Filters<Name>)
            }}
          />
          {isCut && (
            <Text size="xs" c="dimmed">
              {t.views.personal}
            </Text>
          )}
          {Object.keys(kept).length > 0 && <SaveView screen={screen} filters={kept} />}
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
  if (views.data?.items.length === 0) return <Text size="sm">{t.views.none}</Text>
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
            aria-label={t.views.remove(name)}
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
      messages.show({ message: t.views.saved, color: 'green' })
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
          label={t.views.name}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          maxLength={80}
          className="grow"
        />
        <Button type="submit" variant="default" loading={save.isPending}>
          {t.views.save}
        </Button>
      </Group>
      <Refusal error={save.error} />
    </form>
  )
}
