import { Button, Group, NativeSelect, NumberInput, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { callOperation } from '../../../api/call.ts'
import { useAction } from '../../../api/queries.ts'
import { useKeptState } from '../../../forms/kept-state.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { asInput, type LetterAddress, type LetterSelection, maxAtOnce, selectionOf } from './selection.ts'

/** So many are replayed first, to see what becomes of them. */
const few = 5

interface SelectedProps {
  readonly address: LetterAddress
  readonly apply: (next: LetterAddress) => void
}

/** Replays a few of the selected letters, or all of them now, at a time or at a rate; or discards what was counted. */
export function ReplaySelected({ address, apply }: SelectedProps) {
  const t = useTexts()
  const { settings } = useSettings()
  const selection = selectionOf(address)
  const { data } = useCount(selection)
  const replay = useAction('replayDeadLetters')
  if (data === undefined || data.matched === 0) return null
  const { matched, expired, to } = data
  const format = (count: number) => count.toLocaleString(settings.language)
  const run = (more: object) =>
    replay.mutate(
      { ...asInput(selection), ...more },
      {
        onSuccess: ({ replayed, batch_id: batchId }) => {
          const message = batchId === undefined ? t.replays.nothing : t.replays.begun(format(replayed))
          notifications.show({ message, color: batchId === undefined ? 'yellow' : 'green' })
          if (batchId !== undefined) apply({ ...address, replay: batchId })
        },
      },
    )
  return (
    <Stack component="section" className="panel marked" gap="sm" aria-label={t.replays.title}>
      <Text size="sm">
        <strong>{t.replays.selected(format(matched))}</strong> {expired > 0 && t.replays.expiredOf(format(expired))}{' '}
        {matched >= maxAtOnce && t.replays.limited} {t.replays.fewHelp}
      </Text>
      <Group align="flex-end" gap="xs">
        {matched > few && (
          <Button size="sm" loading={replay.isPending} onClick={() => run({ limit: few })}>
            {t.replays.few(few)}
          </Button>
        )}
        <Pace
          label={address.replay === undefined ? t.replays.all : t.replays.rest}
          isPending={replay.isPending}
          run={(pace) => run({ ...pace, limit: maxAtOnce })}
        />
        <Act
          action="discardDeadLetters"
          input={{ ...asInput(selection), to, limit: maxAtOnce } as never}
          size="sm"
          label={t.replays.discardAll(format(matched))}
          text={t.replays.discardAllText(format(matched))}
          word={String(matched)}
          done={t.replays.discardedAll}
        />
      </Group>
      <Refusal error={replay.error} />
    </Stack>
  )
}

interface Count {
  readonly matched: number
  readonly expired: number
  /** When it was counted: what died later is not discarded with it. */
  readonly to: string
}

/** How many letters are selected. Read again with the groups. */
function useCount(selection: LetterSelection) {
  return useQuery<Count>({
    queryKey: ['deadLetters.summary.get', 'count', selection],
    queryFn: async ({ signal }) => {
      const to = new Date().toISOString()
      const input = { ...asInput(selection), limit: maxAtOnce, dry_run: true }
      const { matched = 0, expired = 0 } = await callOperation('deadLetters.replayMany', input, { signal })
      return { matched, expired, to }
    },
  })
}

interface PaceProps {
  readonly label: string
  readonly isPending: boolean
  readonly run: (pace: { readonly at?: string; readonly rate_per_second?: number }) => void
}

function Pace({ label, isPending, run }: PaceProps) {
  const t = useTexts()
  const initial: { when: string; at: string; rate: number | string } = { when: 'now', at: '', rate: 10 }
  const [{ when, at, rate }, write] = useKeptState('pace of a replay', initial)
  return (
    <form
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        if (when === 'at') run({ at: new Date(at).toISOString() })
        else run(when === 'rate' ? { rate_per_second: Number(rate) } : {})
      }}
    >
      <Group align="flex-end" gap="xs">
        <NativeSelect
          label={t.replays.when}
          value={when}
          onChange={(event) => write({ when: event.currentTarget.value })}
          data={(['now', 'at', 'rate'] as const).map((value) => ({ value, label: t.replays[value] }))}
        />
        {when === 'at' && (
          <TextInput
            type="datetime-local"
            label={t.replays.atLabel}
            value={at}
            onChange={(event) => write({ at: event.currentTarget.value })}
            required
          />
        )}
        {when === 'rate' && (
          <NumberInput
            label={t.replays.rateLabel}
            value={rate}
            onChange={(next) => write({ rate: next })}
            min={0.1}
            max={1_000}
            required
            w={170}
          />
        )}
        <Button type="submit" variant="default" loading={isPending}>
          {label}
        </Button>
      </Group>
    </form>
  )
}
