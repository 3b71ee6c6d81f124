import { Code, Text } from '@mantine/core'
import { usePages } from '../../api/queries.ts'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { Id, State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { CallerLink } from './caller-link.tsx'

interface RejectionsProps {
  readonly filters: {
    readonly policy?: string | undefined
    readonly kind?: string | undefined
    readonly id?: string | undefined
    readonly route?: string | undefined
  }
}

/** The last rejected requests, with the rule that rejected each. */
export function Rejections({ filters }: RejectionsProps) {
  const t = useTexts()
  const chosen = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
  const query = usePages('listRejections', chosen)
  const isNarrowed = Object.keys(chosen).length > 0
  const ofOne = filters.id !== undefined
  return (
    <List
      action="listRejections"
      query={query}
      label={t.callers.tabs.rejections}
      keyOf={({ at, request_id: request, rule, identifier }) => `${at} ${request ?? identifier.id} ${rule}`}
      empty={<Empty text={isNarrowed && !ofOne ? t.states.noMatch : t.callers.noRejections} />}
      columns={[
        { label: t.callers.at, render: ({ at }) => <Time at={at} /> },
        ...(ofOne
          ? []
          : [
              {
                label: t.callers.caller,
                render: ({ identifier }: { identifier: { kind: string; id: string } }) => (
                  <CallerLink {...identifier} />
                ),
              },
            ]),
        {
          label: t.callers.rule,
          render: ({ rule, policy, source }) => (
            <>
              <Code>{rule}</Code>{' '}
              <Text span size="sm" c="dimmed">
                {policy === rule ? '' : policy}
              </Text>
              {source !== 'store' && (
                <State tone="careful">{t.callers.sources[source as keyof typeof t.callers.sources] ?? source}</State>
              )}
            </>
          ),
        },
        { label: t.callers.route, render: ({ route }) => <Code>{route}</Code> },
        { label: t.callers.wait, render: ({ retry_after: wait }) => t.callers.seconds(wait) },
        {
          label: t.callers.request,
          render: ({ request_id: id }) => (id === undefined ? null : <Id value={id} />),
        },
      ]}
    />
  )
}
