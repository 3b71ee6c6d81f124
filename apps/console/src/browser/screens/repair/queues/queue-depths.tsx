import { Alert, Stack, Text, Title } from '@mantine/core'
import type { ItemOf } from '../../../../actions/index.ts'
import { Answer } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { usePolled } from '../polled.ts'
import { type QueueReason, whyQueued } from './queue-reason.ts'

const everyMs = 10_000

type Depth = ItemOf<'readQueue'>

/** How deep the queue of each channel and priority is, and why what is due is not sent. */
export function QueueDepths() {
  const t = useTexts()
  const query = usePolled('readQueue', {}, () => everyMs)
  const providers = usePolled('listProviders', {}, () => everyMs)
  const now = Date.now()
  const reasons: Readonly<Record<QueueReason, string>> = {
    sent: t.scheduled.whyNot,
    paused: t.scheduled.whyPaused,
    failing: t.scheduled.whyOpen,
    busy: t.scheduled.whyBusy,
  }
  return (
    <Stack component="section" aria-labelledby="queue" gap="sm">
      <Title order={2} id="queue">
        {t.scheduled.queue}
      </Title>
      <Answer action="readQueue" query={query}>
        {({ items, complete }) => (
          <>
            {!complete && <Alert color="yellow">{t.scheduled.queueIncomplete}</Alert>}
            {items.length === 0 ? (
              <Text c="dimmed" className="panel">
                {t.scheduled.queueEmpty}
              </Text>
            ) : (
              <Rows
                label={t.scheduled.queue}
                rows={items}
                keyOf={({ channel, priority }) => `${channel} ${priority}`}
                columns={[
                  { label: t.scheduled.channels, render: ({ channel }) => channel },
                  { label: t.scheduled.priority, render: ({ priority }) => priority },
                  { label: t.scheduled.depthDue, render: ({ due }) => <strong>{due}</strong> },
                  { label: t.scheduled.depthLeased, render: ({ leased }) => leased },
                  { label: t.scheduled.depthLater, render: ({ later }) => later },
                  { label: t.scheduled.oldest, render: (depth) => <Age depth={depth} now={now} /> },
                  {
                    label: t.scheduled.why,
                    render: (depth) => {
                      const reason = whyQueued(depth, providers.data?.items ?? [], now)
                      return reason && <State tone={reason === 'sent' ? 'good' : 'careful'}>{reasons[reason]}</State>
                    },
                  },
                ]}
              />
            )}
          </>
        )}
      </Answer>
    </Stack>
  )
}

function Age({ depth: { oldest_due_at: at }, now }: { depth: Depth; now: number }) {
  const t = useTexts()
  return at === undefined ? null : t.scheduled.ago(Math.max(0, Math.round((now - Date.parse(at)) / 1_000)))
}
