import type { Notification } from '@gatehouse/client'
import { Group, Stack, Text, Title } from '@mantine/core'
import { formatDuration } from '../../../parts/values/duration.ts'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { DeliveryState } from '../delivery-state.tsx'
import { type ChannelHistory, type HistoryStep, isFallback, type StepKind } from './channel-history.ts'
import { HistoryActions } from './history-actions.tsx'
import { HistoryEntry } from './history-entry.tsx'

interface HistoryViewProps {
  readonly history: ChannelHistory
  readonly histories: readonly ChannelHistory[]
  readonly notification: Notification
}

/** One channel from left to right: what was decided, what providers answered, what they reported. */
export function HistoryView({ history, histories, notification }: HistoryViewProps) {
  const t = useTexts()
  const words = useWords()
  const { channel, delivery, steps, durationMs } = history
  if (channel === undefined) return <WholeNotification steps={steps} />
  return (
    <Stack component="section" className="panel history" gap="sm" aria-label={words.channel(channel)}>
      <Group gap="sm" justify="space-between">
        <Group gap="sm">
          <Title order={2}>{words.channel(channel)}</Title>
          {delivery !== undefined && <DeliveryState delivery={delivery} />}
          {delivery?.provider !== undefined && (
            <Text size="sm" c="dimmed">
              {delivery.provider}
            </Text>
          )}
          {durationMs > 0 && <Took ms={durationMs} suffix={t.notification.total} />}
        </Group>
        {delivery !== undefined && <HistoryActions delivery={delivery} notification={notification} />}
      </Group>
      {isFallback(history, histories) && <Text size="sm">{t.notification.fallback}</Text>}
      <div className="history-steps">
        {steps.map((step) => (
          <Step key={`${step.kind} ${step.entries[0]?.at}`} step={step} />
        ))}
        {placeholdersOf(history).map((kind) => (
          <EmptyStep key={kind} kind={kind} isEnded={!mayGoOn(history)} />
        ))}
      </div>
    </Stack>
  )
}

/** What concerns every channel, on one line each. */
function WholeNotification({ steps }: { steps: readonly HistoryStep[] }) {
  return (
    <ol className="history-whole">
      {steps
        .flatMap(({ entries }) => entries)
        .map((entry) => (
          <li key={`${entry.at} ${entry.what}`}>
            <HistoryEntry entry={entry} isFlat />
          </li>
        ))}
    </ol>
  )
}

/** Whether something may still happen on a history. */
function mayGoOn({ delivery }: ChannelHistory): boolean {
  return (
    delivery !== undefined &&
    delivery.ended === undefined &&
    ['queued', 'deferred', 'aggregated'].includes(delivery.outcome)
  )
}

/** The steps that a history does not have yet, in their places. */
function placeholdersOf({ steps }: ChannelHistory): readonly StepKind[] {
  const kinds = new Set(steps.map(({ kind }) => kind))
  if (!kinds.has('attempts')) return ['attempts', 'reports']
  return kinds.has('reports') ? [] : ['reports']
}

function Step({ step: { kind, entries, durationMs } }: { step: HistoryStep }) {
  const t = useTexts()
  return (
    <div className={`history-step ${kind}`}>
      <Group gap="xs" className="history-step-head">
        <Text size="xs" fw={600}>
          {t.notification.kinds[kind]}
        </Text>
        {kind !== 'decision' && <Took ms={durationMs} />}
      </Group>
      <ol>
        {entries.map((entry) => (
          <li key={`${entry.at} ${entry.what} ${JSON.stringify(entry.detail)}`}>
            <HistoryEntry entry={entry} />
          </li>
        ))}
      </ol>
    </div>
  )
}

function EmptyStep({ kind, isEnded }: { kind: StepKind; isEnded: boolean }) {
  const t = useTexts()
  const { notSent, waiting, noReports, kinds } = t.notification
  const open = kind === 'attempts' ? waiting : noReports
  return (
    <div className={`history-step ${kind} missing`}>
      <Text size="xs" fw={600} className="history-step-head">
        {kinds[kind]}
      </Text>
      <Text size="sm" c="dimmed">
        {isEnded && kind === 'attempts' ? notSent : open}
      </Text>
    </div>
  )
}

function Took({ ms, suffix = '' }: { ms: number; suffix?: string }) {
  const { settings } = useSettings()
  return (
    <Text size="xs" c="dimmed">
      {formatDuration(ms, settings.language)} {suffix}
    </Text>
  )
}
