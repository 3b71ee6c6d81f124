import { SegmentedControl, Stack } from '@mantine/core'
import { useFilters } from '../../../api/filters.ts'
import { TextFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { Page } from '../../../parts/page.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { PendingList } from './pending-list.tsx'
import { QueueDepths } from './queue-depths.tsx'
import { ScheduledList } from './scheduled-list.tsx'

const names = ['kind', 'event', 'user_id'] as const
const kinds = ['scheduled', 'deferred', 'aggregating', 'parked'] as const

/** What is sent later: scheduled, deferred, gathered, parked and queued, and why it has not been sent. */
export function ScheduledScreen() {
  const t = useTexts()
  const [filters, apply] = useFilters(names)
  const kind = kinds.find((each) => each === filters.kind) ?? 'scheduled'
  const { event, user_id } = filters
  const about = { ...(event === undefined ? {} : { event }) }
  const isScheduled = kind === 'scheduled'
  const typed = isScheduled ? (['event', 'user_id'] as const) : (['event'] as const)
  return (
    <Page title={t.sections.scheduled} lead={t.scheduled.lead}>
      <QueueDepths />
      <Stack gap="md" component="section" aria-label={t.scheduled.kind}>
        <SegmentedControl
          className="wrapping"
          aria-label={t.scheduled.kind}
          value={kind}
          onChange={(value) => apply({ ...about, kind: value })}
          data={kinds.map((value) => ({ value, label: t.scheduled.kinds[value] }))}
        />
        <FilterForm screen="/scheduled" names={typed} filters={{ ...filters, kind }} apply={apply} base={{ kind }}>
          <TextFilter name="event" label={t.scheduled.event} w={200} />
          {isScheduled && <TextFilter name="user_id" label={t.scheduled.user} w={200} />}
        </FilterForm>
        {isScheduled ? (
          <ScheduledList filters={{ ...about, ...(user_id === undefined ? {} : { user_id }) }} />
        ) : (
          <PendingList key={kind} kind={kind} filters={about} />
        )}
      </Stack>
    </Page>
  )
}
