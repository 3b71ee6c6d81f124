import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import type { InputOf } from '../../../../actions/index.ts'
import { type Filters, readFilters } from '../../../api/filters.ts'
import { useSession } from '../../../api/session.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { EventField } from '../event-field.tsx'
import { FindMessage } from './find-message.tsx'

const firstNames = ['user_id', 'event', 'channel', 'state'] as const
const furtherNames = ['outcome', 'provider', 'priority', 'from', 'to', 'dedup_key'] as const
/** The filters of the list, by their names in the address. */
export const filterNames = [...firstNames, ...furtherNames] as const
/** The filters of the list. */
export type NotificationFilters = Filters<(typeof filterNames)[number]>

/** The filters as the API takes them: local times as instants. */
export function searchOf({ from, to, ...same }: NotificationFilters): InputOf<'listNotifications'> {
  return {
    ...same,
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  } as InputOf<'listNotifications'>
}

interface FilterFormProps {
  readonly filters: NotificationFilters
  readonly apply: (filters: NotificationFilters) => void
}

/** The filters of the list; those that are used seldom are behind a summary. */
export function FilterForm({ filters, apply }: FilterFormProps) {
  const t = useTexts()
  const isOpen = furtherNames.some((name) => filters[name] !== undefined)
  return (
    <div className="panel filters">
      <form
        key={JSON.stringify(filters)}
        aria-label={t.notifications.filters}
        onSubmit={(event) => {
          event.preventDefault()
          apply(readFilters(filterNames, event.currentTarget))
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput
            name="user_id"
            label={t.notifications.user}
            defaultValue={filters.user_id ?? ''}
            className="grow"
          />
          <EventField name="event" label={t.notifications.event} defaultValue={filters.event ?? ''} />
          <Choice name="channel" filters={filters} />
          <Choice name="state" filters={filters} />
          <Button type="submit">{t.common.search}</Button>
          {Object.keys(filters).length > 0 && (
            <Button variant="subtle" onClick={() => apply({})}>
              {t.common.clear}
            </Button>
          )}
        </Group>
        <details open={isOpen}>
          <summary>{t.notifications.more}</summary>
          <FurtherFilters filters={filters} />
        </details>
      </form>
      <FindMessage />
    </div>
  )
}

function FurtherFilters({ filters }: { filters: NotificationFilters }) {
  const t = useTexts()
  const { scopes } = useSession()
  return (
    <Group align="flex-end" gap="xs" mt="xs">
      <Choice name="outcome" filters={filters} />
      <TextInput name="provider" label={t.notifications.provider} defaultValue={filters.provider ?? ''} w={130} />
      <Choice name="priority" filters={filters} />
      <TextInput name="from" type="datetime-local" label={t.notifications.from} defaultValue={filters.from ?? ''} />
      <TextInput name="to" type="datetime-local" label={t.notifications.to} defaultValue={filters.to ?? ''} />
      {/* Keys are personal: to find by one would confirm a guess. */}
      {scopes.includes('read:personal-data') && (
        <TextInput name="dedup_key" label={t.notifications.dedupKey} defaultValue={filters.dedup_key ?? ''} w={160} />
      )}
    </Group>
  )
}

function Choice({
  name,
  filters,
}: {
  name: 'channel' | 'state' | 'outcome' | 'priority'
  filters: NotificationFilters
}) {
  const t = useTexts()
  const { channels, states, outcomes, priorities } = t.codes
  const { excluded: _, dead_letter: __, cancelled: ___, ...searched } = outcomes
  const words: Readonly<Record<string, string>> = {
    channel: channels,
    state: states,
    outcome: searched,
    priority: priorities,
  }[name]
  const data = Object.entries(words).map(([value, label]) => ({ value, label }))
  return (
    <NativeSelect
      name={name}
      label={t.notifications[name]}
      defaultValue={filters[name] ?? ''}
      data={[{ value: '', label: t.notifications.any }, ...data]}
    />
  )
}
