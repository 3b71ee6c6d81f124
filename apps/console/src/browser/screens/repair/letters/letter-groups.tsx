import { Button, Group, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { OutputOf } from '../../../../actions/index.ts'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { type Grouping, groupingOf, groupings, type LetterAddress, selectionOf } from './selection.ts'
import { Trend } from './trend.tsx'

type Summary = OutputOf<'summarizeDeadLetters'>
type LetterGroup = Summary['groups'][number]

interface GroupsProps {
  readonly address: LetterAddress
  readonly apply: (next: LetterAddress) => void
}

/** Dead letters by what they have in common, the largest group first, each with what helps. */
export function LetterGroups({ address, apply }: GroupsProps) {
  const t = useTexts()
  const { settings } = useSettings()
  const by = groupingOf(address)
  const query = useRead('summarizeDeadLetters', { group_by: by, ...selectionOf(address) } as never)
  return (
    <Stack component="section" aria-labelledby="groups" gap="md">
      <Group justify="space-between" gap="sm">
        <Group gap="sm" align="baseline">
          <Title order={2} id="groups">
            {t.deadLetters.groups}
          </Title>
          {query.data !== undefined && query.data.total > 0 && (
            <Text c="dimmed" size="sm">
              {t.deadLetters.total(query.data.total.toLocaleString(settings.language))}
              {query.data.complete ? '' : ` ${t.deadLetters.incomplete}`}
            </Text>
          )}
        </Group>
        <SegmentedControl
          size="xs"
          aria-label={t.deadLetters.groupBy}
          value={by}
          onChange={(value) => apply({ ...address, by: value })}
          data={groupings.map((value) => ({ value, label: t.deadLetters[value] }))}
        />
      </Group>
      <Answer action="summarizeDeadLetters" query={query}>
        {({ groups }) =>
          groups.length === 0 ? (
            <Empty text={Object.keys(selectionOf(address)).length === 0 ? t.deadLetters.empty : t.states.noMatch} />
          ) : (
            <GroupRows
              by={by}
              groups={groups}
              selected={address[by]}
              open={(key) => apply({ ...address, [by]: key })}
            />
          )
        }
      </Answer>
    </Stack>
  )
}

interface GroupRowsProps {
  readonly by: Grouping
  readonly groups: readonly LetterGroup[]
  /** The group whose letters are listed. */
  readonly selected: string | undefined
  readonly open: (key: string) => void
}

function GroupRows({ by, groups, selected, open }: GroupRowsProps) {
  const t = useTexts()
  const { settings } = useSettings()
  return (
    <Rows
      label={t.deadLetters.groups}
      rows={groups}
      keyOf={({ key = '' }) => key}
      columns={[
        { label: t.deadLetters[by], render: (group) => <GroupName by={by} group={group} /> },
        { label: t.providers.count, render: ({ count }) => <strong>{count.toLocaleString(settings.language)}</strong> },
        {
          label: t.deadLetters.trend,
          render: ({ trend }) => <Trend counts={trend} label={t.deadLetters.trendOf(trend.join(', '))} />,
        },
        { label: t.deadLetters.since, render: ({ first_at }) => <Time at={first_at} /> },
        { label: t.deadLetters.last, render: ({ last_at }) => <Time at={last_at} /> },
        {
          label: t.common.actions,
          isAction: true,
          render: ({ key }) =>
            key !== undefined &&
            key !== selected && (
              <Button
                size="xs"
                variant="default"
                onClick={() => open(key)}
                aria-label={`${t.deadLetters.show}: ${key}`}
              >
                {t.deadLetters.show}
              </Button>
            ),
        },
      ]}
    />
  )
}

/** What the group is, the last answer, and what helps against its cause. */
function GroupName({ by, group: { key, sample } }: { by: Grouping; group: LetterGroup }) {
  const t = useTexts()
  const advice: Readonly<Record<string, string>> = t.deadLetters.advice
  const name = by === 'fingerprint' ? sample.detail : (key ?? t.deadLetters.unnamed)
  return (
    <Stack gap={2} maw="34rem">
      <Text size="sm" fw={600}>
        {name}
      </Text>
      {by !== 'fingerprint' && (
        <Text size="sm" c="dimmed">
          {sample.detail}
        </Text>
      )}
      {advice[sample.cause] !== undefined && <Text size="sm">{advice[sample.cause]}</Text>}
    </Stack>
  )
}
