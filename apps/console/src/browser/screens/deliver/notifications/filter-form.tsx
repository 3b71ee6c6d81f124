import { Group } from '@mantine/core'
import type { Filters } from '../../../api/filters.ts'
import { useSession } from '../../../api/session.tsx'
import { ChoiceFilter, TextFilter, TimeFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { EventField } from '../event-field.tsx'
import { FindMessage } from './find-message.tsx'

const firstNames = ['user_id', 'event', 'channel', 'state'] as const
const furtherNames = ['outcome', 'provider', 'priority', 'from', 'to', 'dedup_key'] as const
/** The filters of the list, by their names in the address. */
export const filterNames = [...firstNames, ...furtherNames] as const
/** The filters of the list. */
export type NotificationFilters = Filters<(typeof filterNames)[number]>

interface NotificationFilterFormProps {
  readonly filters: NotificationFilters
  readonly apply: (filters: NotificationFilters) => void
}

/** The filters of the list; those that are used seldom are behind a summary. */
export function NotificationFilterForm({ filters, apply }: NotificationFilterFormProps) {
  const t = useTexts()
  const further = (
    <details open={furtherNames.some((name) => filters[name] !== undefined)}>
      <summary>{t.notifications.more}</summary>
      <FurtherFilters />
    </details>
  )
  return (
    <FilterForm
      screen="/notifications"
      names={filterNames}
      times={['from', 'to']}
      personal={['dedup_key']}
      filters={filters}
      apply={apply}
      below={further}
      another={<FindMessage />}
    >
      <TextFilter name="user_id" label={t.notifications.user} className="grow" />
      <EventField name="event" label={t.notifications.event} defaultValue={filters.event ?? ''} />
      <CodeFilter name="channel" />
      <CodeFilter name="state" />
    </FilterForm>
  )
}

function FurtherFilters() {
  const t = useTexts()
  const { scopes } = useSession()
  return (
    <Group align="flex-end" gap="xs" mt="xs">
      <CodeFilter name="outcome" />
      <TextFilter name="provider" label={t.notifications.provider} w={130} />
      <CodeFilter name="priority" />
      <TimeFilter name="from" label={t.notifications.from} />
      <TimeFilter name="to" label={t.notifications.to} />
      {/* Keys are personal: to find by one would confirm a guess. */}
      {scopes.includes('read:personal-data') && (
        <TextFilter name="dedup_key" label={t.notifications.dedupKey} w={160} />
      )}
    </Group>
  )
}

function CodeFilter({ name }: { name: 'channel' | 'state' | 'outcome' | 'priority' }) {
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
  return <ChoiceFilter name={name} label={t.notifications[name]} every={t.notifications.any} data={data} />
}
