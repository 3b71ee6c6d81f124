import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { usePages } from '../../api/queries.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { type Column, Rows } from '../../parts/table.tsx'
import { Id, State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { CallerLink } from './caller-link.tsx'
import { groupRejections, type RejectionGroup } from './rejection-groups.ts'
import { useWait } from './wait.ts'

interface RejectionsProps {
  readonly filters: {
    readonly policy?: string | undefined
    readonly kind?: string | undefined
    readonly id?: string | undefined
    readonly route?: string | undefined
  }
}

/** The last rejected requests, with the rule that rejected each; those that are alike in a row are one line. */
export function Rejections({ filters }: RejectionsProps) {
  const t = useTexts()
  const chosen = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
  const query = usePages('listRejections', { ...chosen, limit: 200 })
  const ofOne = filters.id !== undefined
  const isNarrowed = Object.keys(chosen).length > 0 && !ofOne
  const columns = useColumns()
  return (
    <Answer action="listRejections" query={query}>
      {({ pages }) => {
        const groups = groupRejections(pages.flatMap(({ items }) => items))
        if (groups.length === 0) return <Empty text={isNarrowed ? t.states.noMatch : t.callers.noRejections} />
        return (
          <Stack gap="sm">
            <Rows
              label={t.callers.tabs.rejections}
              rows={groups}
              keyOf={({ last, count }) => `${last.at} ${last.request_id ?? last.identifier.id} ${last.rule} ${count}`}
              columns={columns.filter(({ label }) => !ofOne || label !== t.callers.caller)}
            />
            {query.hasNextPage && (
              <Group justify="center">
                <Button variant="default" loading={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
                  {t.common.more}
                </Button>
              </Group>
            )}
          </Stack>
        )
      }}
    </Answer>
  )
}

function useColumns(): readonly Column<RejectionGroup>[] {
  const t = useTexts()
  const wait = useWait()
  return [
    { label: t.callers.at, render: (group) => <When group={group} /> },
    { label: t.callers.caller, render: ({ last }) => <CallerLink {...last.identifier} /> },
    { label: t.callers.rule, render: ({ last }) => <RuleOf rejection={last} /> },
    { label: t.callers.route, render: ({ last }) => <Code>{last.route}</Code> },
    { label: t.callers.wait, render: ({ last }) => wait(last.retry_after) },
    { label: t.callers.request, render: ({ last }) => <RequestId id={last.request_id} /> },
  ]
}

function When({ group: { last, firstAt, count } }: { group: RejectionGroup }) {
  const t = useTexts()
  const seconds = Math.max(1, Math.ceil((Date.parse(last.at) - Date.parse(firstAt)) / 1_000))
  return (
    <>
      <Time at={last.at} />
      {count > 1 && (
        <Text size="xs" c="dimmed">
          {t.callers.inARow(count, seconds)}
        </Text>
      )}
    </>
  )
}

function RuleOf({ rejection: { rule, policy, source } }: { rejection: RejectionGroup['last'] }) {
  const t = useTexts()
  return (
    <>
      <Code>{rule}</Code>{' '}
      <Text span size="sm" c="dimmed">
        {policy === rule ? '' : policy}
      </Text>
      {source !== 'store' && (
        <State tone="careful">{t.callers.sources[source as keyof typeof t.callers.sources] ?? source}</State>
      )}
    </>
  )
}

/** Ids begin with the time, so their end tells them apart. */
function RequestId({ id }: { id: string | undefined }) {
  if (id === undefined) return null
  return (
    <Id value={id}>
      <Code title={id}>{id.length > 12 ? `…${id.slice(-12)}` : id}</Code>
    </Id>
  )
}
