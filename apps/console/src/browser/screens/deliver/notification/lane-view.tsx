import type { Notification } from '@gatehouse/client'
import { Group, Stack, Text, Title } from '@mantine/core'
import { formatDuration } from '../../../parts/duration.ts'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { useWords } from '../code-words.ts'
import { DeliveryState } from '../delivery-state.tsx'
import { LaneActions } from './lane-actions.tsx'
import { LaneEntry } from './lane-entry.tsx'
import { isFallback, type Lane, type LaneStep, type StepKind } from './lanes.ts'

interface LaneViewProps {
  readonly lane: Lane
  readonly lanes: readonly Lane[]
  readonly notification: Notification
}

/** One channel from left to right: what was decided, what providers answered, what they reported. */
export function LaneView({ lane, lanes, notification }: LaneViewProps) {
  const t = useTexts()
  const words = useWords()
  const { channel, delivery, steps, durationMs } = lane
  if (channel === undefined) return <WholeNotification steps={steps} />
  return (
    <Stack component="section" className="panel lane" gap="sm" aria-label={words.channel(channel)}>
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
        {delivery !== undefined && <LaneActions delivery={delivery} notification={notification} />}
      </Group>
      {isFallback(lane, lanes) && <Text size="sm">{t.notification.fallback}</Text>}
      <div className="lane-steps">
        {steps.map((step) => (
          <Step key={`${step.kind} ${step.entries[0]?.at}`} step={step} />
        ))}
        {placeholdersOf(lane).map((kind) => (
          <EmptyStep key={kind} kind={kind} isEnded={!mayGoOn(lane)} />
        ))}
      </div>
    </Stack>
  )
}

/** What concerns every channel, on one line each. */
function WholeNotification({ steps }: { steps: readonly LaneStep[] }) {
  return (
    <ol className="lane-whole">
      {steps
        .flatMap(({ entries }) => entries)
        .map((entry) => (
          <li key={`${entry.at} ${entry.what}`}>
            <LaneEntry entry={entry} isFlat />
          </li>
        ))}
    </ol>
  )
}

/** Whether something may still happen on a lane. */
function mayGoOn({ delivery }: Lane): boolean {
  return (
    delivery !== undefined &&
    delivery.ended === undefined &&
    ['queued', 'deferred', 'aggregated'].includes(delivery.outcome)
  )
}

/** The steps that a lane does not have yet, in their places. */
function placeholdersOf({ steps }: Lane): readonly StepKind[] {
  const kinds = new Set(steps.map(({ kind }) => kind))
  if (!kinds.has('attempts')) return ['attempts', 'reports']
  return kinds.has('reports') ? [] : ['reports']
}

function Step({ step: { kind, entries, durationMs } }: { step: LaneStep }) {
  const t = useTexts()
  return (
    <div className={`lane-step ${kind}`}>
      <Group gap="xs" className="lane-step-head">
        <Text size="xs" fw={600}>
          {t.notification.kinds[kind]}
        </Text>
        {kind !== 'decision' && <Took ms={durationMs} />}
      </Group>
      <ol>
        {entries.map((entry) => (
          <li key={`${entry.at} ${entry.what} ${JSON.stringify(entry.detail)}`}>
            <LaneEntry entry={entry} />
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
    <div className={`lane-step ${kind} missing`}>
      <Text size="xs" fw={600} className="lane-step-head">
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
