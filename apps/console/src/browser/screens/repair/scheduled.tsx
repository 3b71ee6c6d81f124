import { Button, Group, SegmentedControl, Stack, TextInput } from '@mantine/core'
import { readFilters, useFilters } from '../../api/filters.ts'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/settings.tsx'
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
        <form
          key={JSON.stringify(filters)}
          aria-label={t.audit.filters}
          onSubmit={(submitted) => {
            submitted.preventDefault()
            apply({ kind, ...readFilters(typed, submitted.currentTarget) })
          }}
        >
          <Group align="flex-end" gap="xs">
            <TextInput name="event" label={t.scheduled.event} defaultValue={event ?? ''} w={200} />
            {isScheduled && <TextInput name="user_id" label={t.scheduled.user} defaultValue={user_id ?? ''} w={200} />}
            <Button type="submit" variant="default">
              {t.common.search}
            </Button>
            {(event ?? user_id) !== undefined && (
              <Button variant="subtle" onClick={() => apply({ kind })}>
                {t.common.clear}
              </Button>
            )}
          </Group>
        </form>
        {isScheduled ? (
          <ScheduledList filters={{ ...about, ...(user_id === undefined ? {} : { user_id }) }} />
        ) : (
          <PendingList key={kind} kind={kind} filters={about} />
        )}
      </Stack>
    </Page>
  )
}
